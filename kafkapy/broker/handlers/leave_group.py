"""LeaveGroup, v0-5. v3 many members, also by instance (KIP-345); v5 reason, not kept.

Before v3 the error of the one member is the error of the answer.
"""

from typing import TYPE_CHECKING, Any, cast

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.events import LeaveGroup, LeavingMember, Left, MemberLeft

if TYPE_CHECKING:
    from kio.schema.leave_group.v2.request import LeaveGroupRequest as LeaveGroupRequestV2
    from kio.schema.leave_group.v5.request import LeaveGroupRequest

    from kafkapy.broker.requests.needs import HasGroups

HAS_MANY = 3


def handle(node: "HasGroups", call: "Call[LeaveGroupRequest]") -> Answer:
    body = call.body
    members: tuple[LeavingMember, ...]
    if call.version < HAS_MANY:
        members = (LeavingMember(cast("LeaveGroupRequestV2", body).member_id, None),)
    else:
        members = tuple(LeavingMember(one.member_id, one.group_instance_id) for one in body.members)
    event = LeaveGroup(body.group_id, members)

    def translate(reply: Any) -> Fields:
        return _answer(call, event, reply)

    return ask(node.groups, event.group_id, event, translate)


def _answer(call: "Call[LeaveGroupRequest]", event: LeaveGroup, reply: Any) -> Fields:
    error = ErrorCode.NONE
    if isinstance(reply, Refused):
        error = reply.code
        reply = Left(())
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            # The group is not there: then none of them is, which is not the request's fault.
            error = ErrorCode.NONE
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            reply = Left(tuple(MemberLeft(*one, unknown) for one in event.members))
    if call.version < HAS_MANY and error is ErrorCode.NONE:
        error = reply.members[0].error
    return {
        "throttle_time": 0,
        "error_code": error,
        "members": [
            {
                "member_id": one.member_id,
                "group_instance_id": one.instance_id,
                "error_code": one.error,
            }
            for one in reply.members
        ],
    }
