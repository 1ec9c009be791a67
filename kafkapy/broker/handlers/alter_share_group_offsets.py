"""AlterShareGroupOffsets, v0. The group has to be empty.

The group coordinator takes a new state epoch, the share coordinator begins anew under it; who
leads the partitions and knows an older one is fenced at its next write.
"""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import allows, require
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.events import AlterShareOffsets, StateToInitialize
from kafkapy.group.topics import TopicPartitions
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from kio.schema.alter_share_group_offsets.v0.request import AlterShareGroupOffsetsRequest

    from kafkapy.broker.requests.needs import Shares

    Offsets = dict[tuple[UUID, int], int]
    Results = dict[str, dict[int, Refused | None]]


def handle(node: "Shares", call: "Call[AlterShareGroupOffsetsRequest]") -> Answer:
    body = call.body
    require(node, call, Operation.READ, ResourceType.GROUP, body.group_id)
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "The group id is invalid.")
    offsets: Offsets = {}
    # By topic and partition, in their order: what is known before anybody is asked.
    results: Results = {}
    for topic in body.topics:
        _sort(node, call, topic, offsets, results.setdefault(topic.topic_name, {}))
    if not offsets:
        return _answer(node, results)
    promise = Later()
    image = node.image

    def decided(reply: StateToInitialize | Refused) -> None:
        if isinstance(reply, Refused):
            promise.resolve(_failed(reply))
        else:
            node.shares.begin_at(reply, offsets, begun)

    def begun(found: "dict[tuple[UUID, int], Refused | None]") -> None:
        for (topic_id, partition), refused in found.items():
            results[image.topics_by_id[topic_id].name][partition] = refused
        promise.resolve(_answer(node, results))

    wanted: dict[UUID, list[int]] = {}
    for topic_id, partition in sorted(offsets):
        wanted.setdefault(topic_id, []).append(partition)
    topics = tuple(
        TopicPartitions(topic_id, image.topics_by_id[topic_id].name, tuple(partitions))
        for topic_id, partitions in wanted.items()
    )
    node.groups.submit(body.group_id, AlterShareOffsets(body.group_id, topics), decided)
    return promise.answer if promise.is_resolved else promise


def _sort(
    node: "Shares",
    call: "Call[Any]",
    topic: Any,
    offsets: "Offsets",
    results: "dict[int, Refused | None]",
) -> None:
    """What there is of a topic is altered, whatever else is named."""
    found = node.image.topics_by_name.get(topic.topic_name)
    is_allowed = allows(node, call, Operation.READ, ResourceType.TOPIC, topic.topic_name)
    for one in topic.partitions:
        if not is_allowed:
            results[one.partition_index] = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif found is None or one.partition_index not in found.partitions:
            results[one.partition_index] = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            results[one.partition_index] = None
            offsets[found.id, one.partition_index] = one.start_offset


def _row(partition: int, refused: Refused | None) -> Fields:
    return {
        "partition_index": partition,
        "error_code": ErrorCode.NONE if refused is None else refused.code,
        "error_message": None if refused is None else message_of(refused),
    }


def _answer(node: "Shares", results: "Results") -> Fields:
    topics = node.image.topics_by_name
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "responses": [
            {
                "topic_name": name,
                "topic_id": topics[name].id if name in topics else ZERO_UUID,
                "partitions": [_row(*one) for one in of_topic.items()],
            }
            for name, of_topic in results.items()
        ],
    }


def _failed(refused: Refused) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": refused.code,
        "error_message": message_of(refused),
        "responses": (),
    }
