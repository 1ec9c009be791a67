"""DescribeTopicPartitions, v0 (KIP-966): topics page by page, with their ELRs."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.broker.metadata.internal_topics import INTERNAL_TOPICS
from kafkapy.broker.metadata.topic_names import is_legal_topic_name
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows, authorized_operations
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.views import partitions_of

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_topic_partitions.v0.request import DescribeTopicPartitionsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasCluster, HasConfig, HasImage

    class Needs(HasAuthorizer, HasCluster, HasConfig, HasImage, Protocol): ...


def handle(node: "Needs", call: "Call[DescribeTopicPartitionsRequest]") -> Answer:
    body = call.body
    cursor = body.cursor
    names: list[str] = sorted({topic.name for topic in body.topics})
    wants_all = not names
    if wants_all:
        names = sorted(node.image.topics_by_name)
    denied: list[str] = []
    if node.authorizer is not None:
        kind = ResourceType.TOPIC
        denied = [one for one in names if not allows(node, call, Operation.DESCRIBE, kind, one)]
    first_index = 0
    if cursor is not None:
        if cursor.partition_index < 0 or (not wants_all and cursor.topic_name not in names):
            # The response has no error field of its own: every topic asked for gets it.
            return _refused(names if not wants_all else [])
        names = [name for name in names if name >= cursor.topic_name]
        if names and names[0] == cursor.topic_name:
            first_index = cursor.partition_index
    limit = max(1, min(node.config.max_request_partition_size_limit, body.response_partition_limit))
    # Of all topics those are told that the client may know of, of some it named also that.
    rows: list[dict[str, Any]] = [] if wants_all else [_denied(one) for one in denied]
    seen = [one for one in names if one not in set(denied)] if denied else names
    next_cursor = _page(node, seen, first_index, limit, rows)
    for row in rows:
        if row["error_code"] != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            row["topic_authorized_operations"] = authorized_operations(
                node, call, ResourceType.TOPIC, row["name"]
            )
    return {"throttle_time": 0, "topics": rows, "next_cursor": next_cursor}


def _refused(names: list[str]) -> Fields:
    rows = [{**_missing(name), "error_code": ErrorCode.INVALID_REQUEST} for name in names]
    return {"throttle_time": 0, "topics": rows, "next_cursor": None}


def _denied(name: str) -> dict[str, Any]:
    return {**_missing(name), "error_code": ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def _page(
    node: "Needs", names: list[str], first_index: int, limit: int, rows: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Fill `rows` with up to `limit` partitions; where to go on, or None at the end."""
    left = limit
    for name in names:
        if left == 0:
            return {"topic_name": name, "partition_index": 0}
        topic = node.image.topics_by_name.get(name)
        if topic is None:
            rows.append(_missing(name))
            continue
        states = list(_from(partitions_of(node.image, topic), first_index))
        rows.append(_topic(node, topic, states[:left]))
        if len(states) > left:
            return {"topic_name": name, "partition_index": states[left][0]}
        left -= len(states)
        first_index = 0
    return None


def _from(
    partitions: Mapping[int, PartitionState], first_index: int
) -> Iterator[tuple[int, PartitionState]]:
    for index in sorted(partitions):
        if index >= first_index:
            yield index, partitions[index]


def _missing(name: str) -> dict[str, Any]:
    legal = is_legal_topic_name(name)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if legal else ErrorCode.INVALID_TOPIC_EXCEPTION
    return {
        "error_code": code,
        "name": name,
        "topic_id": None,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": (),
    }


def _topic(
    node: "Needs", topic: TopicState, states: list[tuple[int, PartitionState]]
) -> dict[str, Any]:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "partitions": [
            {
                "error_code": 0,  # that nobody leads it is no error here
                "partition_index": index,
                "leader_id": state.leader,
                "leader_epoch": state.leader_epoch,
                "replica_nodes": state.replicas,
                "isr_nodes": state.isr,
                "eligible_leader_replicas": state.elr,
                "last_known_elr": state.last_known_elr,
                "offline_replicas": node.cluster.offline_replicas(state),
            }
            for index, state in states
        ],
    }
