"""Heartbeat, v0-4. v3 adds group_instance_id (KIP-345); v4 is flexible.

While the group is loading the answer is that all is well: a member that heard otherwise
would rejoin a group that will be there in a moment.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.events import Heartbeat

if TYPE_CHECKING:
    from kio.schema.heartbeat.v4.request import HeartbeatRequest

    from kafkapy.broker.requests.needs import HasGroups


def handle(node: "HasGroups", call: "Call[HeartbeatRequest]") -> Answer:
    body = call.body
    event = Heartbeat(
        body.group_id,
        body.member_id,
        optional(body, "group_instance_id", None),
        body.generation_id,
    )
    return ask(node.groups, event.group_id, event, _answer)


def _answer(reply: Any) -> Fields:
    error = reply.code if isinstance(reply, Refused) else reply.error
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        error = ErrorCode.NONE
    return {"throttle_time": 0, "error_code": error}
