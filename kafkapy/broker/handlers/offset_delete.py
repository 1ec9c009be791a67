"""OffsetDelete, v0. Partitions that are not there are answered for themselves."""

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows, require
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.group.offsets.events import DeleteOffsets
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.views import partitions_of

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.offset_delete.v0.request import OffsetDeleteRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasImage

    class Needs(HasAuthorizer, HasGroups, HasImage, Protocol): ...


def handle(node: "Needs", call: "Call[OffsetDeleteRequest]") -> Answer:
    body = call.body
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    require(node, call, Operation.DELETE, ResourceType.GROUP, body.group_id)
    known = node.image.topics_by_name
    denied = {
        topic.name
        for topic in body.topics
        if not allows(node, call, Operation.READ, ResourceType.TOPIC, topic.name)
    }
    partitions = tuple(
        TopicPartition(topic.name, one.partition_index)
        for topic in body.topics
        if topic.name in known and topic.name not in denied
        for one in topic.partitions
        if one.partition_index in partitions_of(node.image, known[topic.name])
    )

    def translate(reply: Any) -> Fields:
        if isinstance(reply, Refused):
            return {"error_code": reply.code, "throttle_time": 0, "topics": ()}
        return _answer(body, dict(zip(partitions, reply.errors, strict=True)), denied)

    return ask(node.groups, body.group_id, DeleteOffsets(body.group_id, partitions), translate)


def _answer(
    body: "OffsetDeleteRequest", errors: dict[TopicPartition, ErrorCode], denied: AbstractSet[str]
) -> Fields:
    def other(topic: str) -> ErrorCode:
        if topic in denied:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

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
                            TopicPartition(topic.name, one.partition_index), other(topic.name)
                        ),
                    }
                    for one in topic.partitions
                ],
            }
            for topic in body.topics
        ],
    }
