"""AlterShareGroupOffsets, v0. The group has to be empty.

The group coordinator takes a new state epoch, the share coordinator begins anew under it; who
leads the partitions and knows an older one is fenced at its next write.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import allows, require
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.events import AlterShareOffsets, StateToInitialize
from kafkapy.group.topics import TopicPartitions
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from uuid import UUID

    from kio.schema.alter_share_group_offsets.v0.request import AlterShareGroupOffsetsRequest

    from kafkapy.broker.requests.needs import Shares

    Offsets = dict[tuple[UUID, int], int]


def handle(node: "Shares", call: "Call[AlterShareGroupOffsetsRequest]") -> Answer:
    body = call.body
    require(node, call, Operation.READ, ResourceType.GROUP, body.group_id)
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "The group id is invalid.")
    wanted: list[TopicPartitions] = []
    offsets: Offsets = {}
    refused: list[Fields] = []
    for topic in body.topics:
        known = _known(node, call, topic)
        if isinstance(known, Refused):
            refused.append(_topic(node, topic, dict.fromkeys(_indexes(topic), known)))
            continue
        wanted.append(known)
        for one in topic.partitions:
            offsets[known.topic_id, one.partition_index] = one.start_offset
    if not wanted:
        return _answer(refused)
    promise = Later()

    def decided(reply: StateToInitialize | Refused) -> None:
        if isinstance(reply, Refused):
            promise.resolve(_failed(reply))
        else:
            node.shares.begin_at(reply, offsets, begun)

    def begun(results: "dict[tuple[UUID, int], Refused | None]") -> None:
        rows: list[Fields] = [
            {
                "topic_name": one.topic,
                "topic_id": one.topic_id,
                "partitions": [_row(p, results[one.topic_id, p]) for p in one.partitions],
            }
            for one in wanted
        ]
        promise.resolve(_answer(refused + rows))

    event = AlterShareOffsets(body.group_id, tuple(wanted))
    node.groups.submit(body.group_id, event, decided)
    return promise.answer if promise.is_resolved else promise


def _known(node: "Shares", call: "Call[Any]", topic: Any) -> TopicPartitions | Refused:
    name = topic.topic_name
    if not allows(node, call, Operation.READ, ResourceType.TOPIC, name):
        return Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    found = node.image.topics_by_name.get(name)
    indexes = _indexes(topic)
    if found is None or any(one not in found.partitions for one in indexes):
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return TopicPartitions(found.id, name, tuple(sorted(indexes)))


def _indexes(topic: Any) -> list[int]:
    return [one.partition_index for one in topic.partitions]


def _topic(node: "Shares", topic: Any, results: dict[int, Refused]) -> Fields:
    found = node.image.topics_by_name.get(topic.topic_name)
    return {
        "topic_name": topic.topic_name,
        "topic_id": ZERO_UUID if found is None else found.id,
        "partitions": [_row(partition, refused) for partition, refused in results.items()],
    }


def _row(partition: int, refused: Refused | None) -> Fields:
    return {
        "partition_index": partition,
        "error_code": ErrorCode.NONE if refused is None else refused.code,
        "error_message": None if refused is None else message_of(refused),
    }


def _answer(rows: list[Fields]) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "responses": rows,
    }


def _failed(refused: Refused) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": refused.code,
        "error_message": message_of(refused),
        "responses": (),
    }
