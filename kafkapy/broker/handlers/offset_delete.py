"""OffsetDelete, v0. Partitions that are not there are answered for themselves."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.group.offsets.events import DeleteOffsets

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest

    from kafkapy.broker.requests.needs import HasGroups, HasImage

    class Needs(HasGroups, HasImage, Protocol): ...


def handle(node: "Needs", call: "Call[OffsetDeleteRequest]") -> Answer:
    body = call.body
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    known = node.image.topics_by_name
    partitions = tuple(
        TopicPartition(topic.name, one.partition_index)
        for topic in body.topics
        if topic.name in known
        for one in topic.partitions
        if one.partition_index in known[topic.name].partitions
    )

    def translate(reply: Any) -> Fields:
        if isinstance(reply, Refused):
            return {"error_code": reply.code, "throttle_time": 0, "topics": ()}
        return _answer(body, dict(zip(partitions, reply.errors, strict=True)))

    return ask(node.groups, body.group_id, DeleteOffsets(body.group_id, partitions), translate)


def _answer(body: "OffsetDeleteRequest", errors: dict[TopicPartition, ErrorCode]) -> Fields:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return {
        "error_code": ErrorCode.NONE,
        "throttle_time": 0,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": one.partition_index,
                        "error_code": errors.get(
                            TopicPartition(topic.name, one.partition_index), unknown
                        ),
                    }
                    for one in topic.partitions
                ],
            }
            for topic in body.topics
        ],
    }
