"""DeleteShareGroupOffsets, v0. The group has to be empty; it begins anew in these topics."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import allows, require
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.events import DeleteShareOffsets, ShareStateToDelete
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from uuid import UUID

    from kio.schema.delete_share_group_offsets.v0.request import DeleteShareGroupOffsetsRequest

    from kafkapy.broker.requests.needs import Shares


_NOTHING = Refused(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete."
)


def handle(node: "Shares", call: "Call[DeleteShareGroupOffsetsRequest]") -> Answer:
    body = call.body
    require(node, call, Operation.DELETE, ResourceType.GROUP, body.group_id)
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID, "The group id is invalid.")
    rows: list[Fields] = []
    wanted: dict[UUID, str] = {}
    for one in body.topics:
        name = one.topic_name
        topic = node.image.topics_by_name.get(name)
        if not allows(node, call, Operation.READ, ResourceType.TOPIC, name):
            rows.append(_row(name, None, Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
        elif topic is None:
            rows.append(_row(name, None, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
        else:
            wanted[topic.id] = name
    promise = Later()

    def decided(reply: ShareStateToDelete | Refused) -> None:
        if isinstance(reply, Refused):
            promise.resolve(_fields(reply.code, message_of(reply), ()))
        else:
            node.shares.delete(body.group_id, reply.topics, deleted)

    def deleted(results: "dict[UUID, Refused | None]") -> None:
        found = [
            _row(name, one, results[one]) if one in results else _row(name, None, _NOTHING)
            for one, name in wanted.items()
        ]
        promise.resolve(_fields(ErrorCode.NONE, None, rows + found))

    event = DeleteShareOffsets(body.group_id, wanted)
    node.groups.submit(body.group_id, event, decided)
    return promise.answer if promise.is_resolved else promise


def _row(name: str, topic_id: "UUID | None", refused: Refused | None) -> Fields:
    return {
        "topic_name": name,
        "topic_id": topic_id or ZERO_UUID,
        "error_code": ErrorCode.NONE if refused is None else refused.code,
        "error_message": None if refused is None else message_of(refused),
    }


def _fields(error: ErrorCode, message: str | None, rows: Any) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": error,
        "error_message": message,
        "responses": rows,
    }
