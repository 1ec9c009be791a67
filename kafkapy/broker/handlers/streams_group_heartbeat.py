"""StreamsGroupHeartbeat, v0 (KIP-1071). A member's id is its own, made by the client.

Internal topics that the topology asks for are made once the answer leaves, if the member may
create topics; later heartbeats bring the tasks. As in Apache Kafka 4.3 there are no static
members, no warm-up tasks and no offsets of tasks yet.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.groups.task_fields import task_fields
from kafkapy.broker.metadata.internal_topics import INTERNAL_TOPICS
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import millis
from kafkapy.broker.security.authorizer.asking import allows, require, would_allow
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.records.streams import (
    CopartitionGroup,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicConfig,
    TopicInfo,
)
from kafkapy.group.streams.configure import Status, StatusCode
from kafkapy.group.streams.endpoints import EndpointPartitions, Partitions
from kafkapy.group.streams.events import StreamsHeartbeat, StreamsHeartbeatHeard
from kafkapy.group.streams.member import Target, Tasks
from kafkapy.group.streams.topology import topics_of
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.kraft.controller.topics.names import check_name
from kafkapy.protocol.error_messages import message_of_heartbeat

if TYPE_CHECKING:
    from kio.schema.streams_group_heartbeat.v0 import request as schema

    from kafkapy.broker.requests.needs import ServesStreams

# How many topics that could not be made are told.
_TOLD = 3


def handle(node: "ServesStreams", call: "Call[schema.StreamsGroupHeartbeatRequest]") -> Answer:
    body = call.body
    if not node.streams.is_enabled:
        return _refused(Refused(ErrorCode.UNSUPPORTED_VERSION))
    if not allows(node, call, Operation.READ, ResourceType.GROUP, body.group_id):
        return _refused(Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    try:
        topology = None if body.topology is None else _topology(body.topology)
        if topology is not None:
            _check_topics(node, call, topology)
        _check_form(body)
    except Refused as refused:
        return _refused(refused)
    event = StreamsHeartbeat(
        body.group_id,
        body.member_id,
        body.member_epoch,
        call.client_id or "",
        f"/{call.peer.host}",
        body.endpoint_information_epoch,
        body.rack_id,
        millis(body.rebalance_timeout),
        topology,
        _owned(body),
        body.process_id,
        None if body.user_endpoint is None else (body.user_endpoint.host, body.user_endpoint.port),
        None if body.client_tags is None else tuple((t.key, t.value) for t in body.client_tags),
        body.shutdown_application,
    )

    def answer(reply: StreamsHeartbeatHeard | Refused) -> Fields:
        if isinstance(reply, Refused):
            return _refused(reply)
        return _heard(reply, _with_created(node, call, reply))

    return ask(node.groups, event.group_id, event, answer)


def _check_topics(
    node: "ServesStreams",
    call: "Call[schema.StreamsGroupHeartbeatRequest]",
    topology: StreamsGroupTopologyValue,
) -> None:
    """Every topic that the application would use."""
    topics = dict.fromkeys(topics_of(topology.subtopologies))
    internal = [name for name in topics if name in INTERNAL_TOPICS]
    if internal:
        raise Refused(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is "
            "prohibited.",
        )
    invalid = [name for name in topics if not _is_valid(name)]
    if invalid:
        raise Refused(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Topic names {','.join(invalid)} are not valid topic names.",
        )
    if node.authorizer is not None:
        for name in topics:
            require(node, call, Operation.DESCRIBE, ResourceType.TOPIC, name)


def _is_valid(name: str) -> bool:
    try:
        check_name(name)
    except Refused:
        return False
    return True


def _check_form(body: "schema.StreamsGroupHeartbeatRequest") -> None:
    """What the event has no words for."""
    kinds = (body.active_tasks, body.standby_tasks, body.warmup_tasks)
    if body.instance_id is not None:
        why = "Static membership is not yet supported."
    elif body.task_offsets is not None:
        why = "TaskOffsets are not supported yet."
    elif body.task_end_offsets is not None:
        why = "TaskEndOffsets are not supported yet."
    elif any(kind is None for kind in kinds) and any(kind is not None for kind in kinds):
        why = "If one task-type is non-null, all must be non-null."
    else:
        return
    raise Refused(ErrorCode.INVALID_REQUEST, why)


def _with_created(
    node: "ServesStreams",
    call: "Call[schema.StreamsGroupHeartbeatRequest]",
    reply: StreamsHeartbeatHeard,
) -> Sequence[Status]:
    """Topics that are missing are asked for; the statuses, with why some could not be made."""
    topics, group = reply.to_create, call.body.group_id
    if not topics:
        return reply.statuses
    on_topic = (Operation.CREATE, ResourceType.TOPIC)
    denied: list[str] = []
    if not would_allow(node, call, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        denied = [one.name for one in topics if not allows(node, call, *on_topic, one.name)]
    if denied:
        return _added(reply.statuses, f"Unauthorized to CREATE on topics {', '.join(denied)}.")
    node.streams.create_topics(topics, group, call)
    failures = node.streams.failures(topics)
    if not failures:
        return reply.statuses
    told = ", ".join(f"{name} ({why})" for name, why in islice(failures.items(), _TOLD))
    more = f" and {len(failures) - _TOLD} more" if len(failures) > _TOLD else ""
    return _added(reply.statuses, f"Creation failed: {told}{more}.")


def _added(statuses: Sequence[Status], why: str) -> Sequence[Status]:
    return [
        one._replace(detail=f"{one.detail}; {why}")
        if one.code is StatusCode.MISSING_INTERNAL_TOPICS
        else one
        for one in statuses
    ]


def _topology(sent: "schema.Topology") -> StreamsGroupTopologyValue:
    """As it is stored."""
    return StreamsGroupTopologyValue(
        epoch=sent.epoch,
        subtopologies=tuple(
            Subtopology(
                subtopology_id=one.subtopology_id,
                source_topics=one.source_topics,
                source_topic_regex=one.source_topic_regex,
                state_changelog_topics=tuple(map(_info, one.state_changelog_topics)),
                repartition_sink_topics=one.repartition_sink_topics,
                repartition_source_topics=tuple(map(_info, one.repartition_source_topics)),
                copartition_groups=tuple(
                    CopartitionGroup(
                        source_topics=group.source_topics,
                        source_topic_regex=group.source_topic_regex,
                        repartition_source_topics=group.repartition_source_topics,
                    )
                    for group in one.copartition_groups
                ),
            )
            for one in sent.subtopologies
        ),
    )


def _info(sent: "schema.TopicInfo") -> TopicInfo:
    return TopicInfo(
        name=sent.name,
        partitions=sent.partitions,
        replication_factor=sent.replication_factor,
        topic_configs=tuple(
            TopicConfig(key=one.key, value=one.value) for one in sent.topic_configs
        ),
    )


def _owned(body: "schema.StreamsGroupHeartbeatRequest") -> Target | None:
    if body.active_tasks is None or body.standby_tasks is None or body.warmup_tasks is None:
        return None
    return Target(_tasks(body.active_tasks), _tasks(body.standby_tasks), _tasks(body.warmup_tasks))


def _tasks(listed: "Iterable[schema.TaskIds]") -> Tasks:
    found: dict[str, frozenset[int]] = {}
    for one in listed:
        had = found.get(one.subtopology_id, frozenset())
        found[one.subtopology_id] = had.union(one.partitions)
    return found


def _refused(refused: Refused) -> Fields:
    return _fields(
        error_code=refused.code,
        error_message=message_of_heartbeat(refused),
        member_id="",
        member_epoch=0,
        heartbeat_interval=0,
        status=(),
    )


def _heard(reply: StreamsHeartbeatHeard, statuses: Sequence[Status]) -> Fields:
    tasks = reply.tasks
    return _fields(
        error_code=ErrorCode.NONE,
        error_message=None,
        member_id=reply.member_id,
        member_epoch=reply.member_epoch,
        heartbeat_interval=reply.heartbeat_interval_ms,
        status=[{"status_code": one.code, "status_detail": one.detail} for one in statuses],
        active_tasks=None if tasks is None else task_fields(tasks.active),
        standby_tasks=None if tasks is None else task_fields(tasks.standby),
        warmup_tasks=None if tasks is None else task_fields(tasks.warmup),
        endpoint_information_epoch=reply.endpoint_epoch,
        partitions_by_user_endpoint=(
            None if reply.endpoints is None else [_endpoint(one) for one in reply.endpoints]
        ),
    )


def _fields(**said: Any) -> Fields:
    """Nothing is said of what members do not send yet: 0."""
    return {
        "throttle_time": 0,
        "acceptable_recovery_lag": 0,
        "task_offset_interval": 0,
        "active_tasks": None,
        "standby_tasks": None,
        "warmup_tasks": None,
        "endpoint_information_epoch": 0,
        "partitions_by_user_endpoint": None,
        **said,
    }


def _endpoint(one: EndpointPartitions) -> Fields:
    host, port = one.endpoint
    return {
        "user_endpoint": {"host": host, "port": port},
        "active_partitions": _partitions(one.active),
        "standby_partitions": _partitions(one.standby),
    }


def _partitions(listed: Partitions) -> list[Fields]:
    return [{"topic": topic, "partitions": partitions} for topic, partitions in listed]
