"""SyncGroup, v0-5. v3 static members (KIP-345), v5 protocol type and name.

A follower's answer comes when the leader has brought the assignment. From v5 on protocol
type and name must be there: who leaves them out is answered INCONSISTENT_GROUP_PROTOCOL.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.events import Synced, SyncGroup

if TYPE_CHECKING:
    from kio.schema.sync_group.v5.request import SyncGroupRequest

    from kafkapy.broker.requests.needs import HasGroups

NAMES_PROTOCOL = 5


def handle(node: "HasGroups", call: "Call[SyncGroupRequest]") -> Answer:
    body = call.body
    if call.version >= NAMES_PROTOCOL and None in (body.protocol_type, body.protocol_name):
        return _answer(Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    event = SyncGroup(
        group_id=body.group_id,
        member_id=body.member_id,
        instance_id=optional(body, "group_instance_id", None),
        generation=body.generation_id,
        protocol_type=optional(body, "protocol_type", None),
        protocol_name=optional(body, "protocol_name", None),
        assignments=tuple((one.member_id, one.assignment) for one in body.assignments),
    )
    return ask(node.groups, event.group_id, event, _answer)


def _answer(reply: Any) -> Fields:
    synced = Synced(reply.code) if isinstance(reply, Refused) else reply
    return {
        "throttle_time": 0,
        "error_code": synced.error,
        "protocol_type": synced.protocol_type,
        "protocol_name": synced.protocol_name,
        "assignment": synced.assignment,
    }
