"""What a broker asks the controller, as requests, and the answers as replies.

The other side of handlers/broker_registration.py and its kin. An answer that refuses the whole
comes out as Refused.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.broker.controller.registrations import feature_fields, listener_fields
from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat, HeartbeatReply
from kafkapy.kraft.controller.brokers.registration import (
    BrokerRegistered,
    ControllerRegistered,
    RegisterBroker,
    RegisterController,
)
from kafkapy.kraft.controller.partitions.directories import (
    AssignReplicas,
    AssignReply,
    ReplicaDirectory,
)
from kafkapy.kraft.controller.partitions.isr import (
    AlterPartition,
    AlterPartitionReply,
    NewIsr,
    PartitionAgreed,
)
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdBlock
from kafkapy.kraft.controller.topics.changes import CreateReply, CreateTopics, TopicCreated
from kafkapy.protocol.api_keys import ApiKey


class Question(NamedTuple):
    """`reply(event, response)` reads the answer to the event."""

    api: ApiKey
    versions: tuple[int, int]
    fields: Callable[[Any], Fields]
    reply: Callable[[Any, Any], Any]


# -- registration


def _registration(event: RegisterBroker) -> Fields:
    return {
        "broker_id": event.broker_id,
        "cluster_id": event.cluster_id,
        "incarnation_id": event.incarnation_id,
        "listeners": listener_fields(event.endpoints),
        "features": feature_fields(event.features),
        "rack": event.rack,
        "is_migrating_zk_broker": event.is_migrating,
        "log_dirs": event.log_dirs,
        "previous_broker_epoch": -1 if event.previous_epoch is None else event.previous_epoch,
    }


def _registered(event: RegisterBroker, answer: Any) -> BrokerRegistered:
    _check(answer)
    return BrokerRegistered(answer.broker_epoch)


def _controller(event: RegisterController) -> Fields:
    return {
        "controller_id": event.controller_id,
        "incarnation_id": event.incarnation_id,
        "zk_migration_ready": False,
        "listeners": listener_fields(event.endpoints),
        "features": feature_fields(event.features),
    }


def _controller_registered(event: RegisterController, answer: Any) -> ControllerRegistered:
    _check(answer, answer.error_message)
    return ControllerRegistered()


# -- heartbeats


def _heartbeat(event: BrokerHeartbeat) -> Fields:
    return {
        "broker_id": event.broker_id,
        "broker_epoch": event.epoch,
        "current_metadata_offset": event.metadata_offset,
        "want_fence": event.wants_fence,
        "want_shut_down": event.wants_shutdown,
        "offline_log_dirs": event.offline_dirs,
        "cordoned_log_dirs": event.cordoned_dirs,
    }


def _beaten(event: BrokerHeartbeat, answer: Any) -> HeartbeatReply:
    _check(answer)
    return HeartbeatReply(answer.is_caught_up, answer.is_fenced, answer.should_shut_down)


# -- directories, producer ids


def _assignment(event: AssignReplicas) -> Fields:
    def by_directory(one: ReplicaDirectory) -> tuple[UUID, UUID]:
        return one.directory, one.topic_id

    directories: dict[UUID, list[Fields]] = {}
    ordered = sorted(event.replicas, key=by_directory)
    for (directory, topic_id), found in groupby(ordered, key=by_directory):
        rows = [{"partition_index": one.index} for one in found]
        directories.setdefault(directory, []).append({"topic_id": topic_id, "partitions": rows})
    return {
        "broker_id": event.broker_id,
        "broker_epoch": event.broker_epoch,
        "directories": [
            {"id_": directory, "topics": topics} for directory, topics in directories.items()
        ],
    }


def _assigned(event: AssignReplicas, answer: Any) -> AssignReply:
    _check(answer)
    codes = {
        (directory.id_, topic.topic_id, one.partition_index): one.error_code
        for directory in answer.directories
        for topic in directory.topics
        for one in topic.partitions
    }
    return tuple(
        _refused(_found(codes, (one.directory, one.topic_id, one.index))) for one in event.replicas
    )


def _allocation(event: AllocateProducerIds) -> Fields:
    return {"broker_id": event.broker_id, "broker_epoch": event.broker_epoch}


def _allocated(event: AllocateProducerIds, answer: Any) -> ProducerIdBlock:
    _check(answer)
    return ProducerIdBlock(int(answer.producer_id_start), answer.producer_id_len)


# -- in-sync replicas


def _isr_changes(event: AlterPartition) -> Fields:
    ordered = sorted(event.partitions, key=lambda one: one.topic_id)
    return {
        "broker_id": event.broker_id,
        "broker_epoch": event.broker_epoch,
        "topics": [
            {"topic_id": topic_id, "partitions": [_isr_change(one) for one in found]}
            for topic_id, found in groupby(ordered, key=lambda one: one.topic_id)
        ],
    }


def _isr_change(one: NewIsr) -> Fields:
    return {
        "partition_index": one.index,
        "leader_epoch": one.leader_epoch,
        "new_isr": [broker for broker, _ in one.isr],
        "new_isr_with_epochs": [
            {"broker_id": broker, "broker_epoch": epoch} for broker, epoch in one.isr
        ],
        "leader_recovery_state": one.recovery,
        "partition_epoch": one.partition_epoch,
    }


def _isr_changed(event: AlterPartition, answer: Any) -> AlterPartitionReply:
    _check(answer)
    rows = {
        (topic.topic_id, one.partition_index): one
        for topic in answer.topics
        for one in topic.partitions
    }
    return tuple(_agreed(_found(rows, (one.topic_id, one.index))) for one in event.partitions)


def _agreed(row: Any) -> PartitionAgreed | Refused:
    if row.error_code:
        return Refused(ErrorCode(int(row.error_code)))
    return PartitionAgreed(
        int(row.leader_id),
        row.leader_epoch,
        row.partition_epoch,
        tuple(int(one) for one in row.isr),
        row.leader_recovery_state,
    )


# -- topics

# Long enough for a queue: Apache Kafka's controller refuses what has waited in its own for longer.
_CREATION_TIMEOUT_MS: Final = 5_000


def _topics(event: CreateTopics) -> Fields:
    return {
        "topics": [
            {
                "name": one.name,
                "num_partitions": one.partitions,
                "replication_factor": one.replication_factor,
                "assignments": [
                    {"partition_index": index, "broker_ids": brokers}
                    for index, brokers in one.assignments
                ],
                "configs": [{"name": name, "value": value} for name, value in one.configs],
            }
            for one in event.topics
        ],
        "timeout": _CREATION_TIMEOUT_MS,
        "validate_only": event.validate_only,
    }


def _created(event: CreateTopics, answer: Any) -> CreateReply:
    return {row.name: _topic_created(row) for row in answer.topics}


def _topic_created(row: Any) -> TopicCreated | Refused:
    if row.error_code:
        return Refused(ErrorCode(int(row.error_code)), row.error_message)
    return TopicCreated(row.topic_id, row.num_partitions, row.replication_factor, None)


QUESTIONS: Final[dict[type, Question]] = {
    RegisterBroker: Question(ApiKey.BROKER_REGISTRATION, (0, 4), _registration, _registered),
    RegisterController: Question(
        ApiKey.CONTROLLER_REGISTRATION, (0, 0), _controller, _controller_registered
    ),
    BrokerHeartbeat: Question(ApiKey.BROKER_HEARTBEAT, (0, 2), _heartbeat, _beaten),
    AssignReplicas: Question(ApiKey.ASSIGN_REPLICAS_TO_DIRS, (0, 0), _assignment, _assigned),
    AllocateProducerIds: Question(ApiKey.ALLOCATE_PRODUCER_IDS, (0, 0), _allocation, _allocated),
    AlterPartition: Question(ApiKey.ALTER_PARTITION, (2, 3), _isr_changes, _isr_changed),
    CreateTopics: Question(ApiKey.CREATE_TOPICS, (7, 7), _topics, _created),
}


def _check(answer: Any, message: str | None = None) -> None:
    if answer.error_code:
        raise Refused(ErrorCode(int(answer.error_code)), message)


def _refused(code: int) -> Refused | None:
    return Refused(ErrorCode(int(code))) if code else None


def _found(rows: dict[Any, Any], key: Sequence[object]) -> Any:
    try:
        return rows[key]
    except KeyError:
        raise Corrupt(f"the controller did not answer for {key}") from None
