"""JoinGroup, v0-9. v1 rebalance timeout, v4 member id required, v5 static members (KIP-345),
v7 protocol type, v8 reason, v9 skip assignment (KIP-814). The reason is not kept.

The answer comes when the rebalance has collected everybody.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.core.errors import Refused
from kafkapy.group.classic.events import Joined, JoinGroup, OfferedProtocol

if TYPE_CHECKING:
    from kio.schema.join_group.v9.request import JoinGroupRequest

    from kafkapy.broker.requests.needs import MakesMembers

NEEDS_KNOWN_MEMBER_ID = 4
HAS_NULL_PROTOCOL = 7
CAN_SKIP_ASSIGNMENT = 9


def handle(node: "MakesMembers", call: "Call[JoinGroupRequest]") -> Answer:
    event = _event(node, call)

    def translate(reply: Any) -> Fields:
        if isinstance(reply, Refused):
            reply = Joined(reply.code, event.member_id)
        return _answer(call, reply)

    return ask(node.groups, event.group_id, event, translate)


def _event(node: "MakesMembers", call: "Call[JoinGroupRequest]") -> JoinGroup:
    body = call.body
    session_timeout_ms = millis(body.session_timeout)
    rebalance_timeout_ms = session_timeout_ms
    if call.version >= 1:
        rebalance_timeout_ms = millis(body.rebalance_timeout)
    instance_id = optional(body, "group_instance_id", None)
    return JoinGroup(
        group_id=body.group_id,
        member_id=body.member_id,
        instance_id=instance_id,
        client_id=call.client_id or "",
        client_host=f"/{call.peer.host}",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        protocol_type=body.protocol_type,
        protocols=tuple(OfferedProtocol(one.name, one.metadata) for one in body.protocols),
        fresh_member_id=f"{instance_id or call.client_id or ''}-{node.rng.uuid()}",
        needs_known_member_id=call.version >= NEEDS_KNOWN_MEMBER_ID,
        can_skip_assignment=call.version >= CAN_SKIP_ASSIGNMENT,
    )


def _answer(call: "Call[JoinGroupRequest]", joined: Joined) -> dict[str, Any]:
    protocol_name = joined.protocol_name
    if protocol_name is None and call.version < HAS_NULL_PROTOCOL:
        protocol_name = ""
    return {
        "throttle_time": 0,
        "error_code": joined.error,
        "generation_id": joined.generation,
        "protocol_type": joined.protocol_type,
        "protocol_name": protocol_name,
        "leader": joined.leader,
        "skip_assignment": joined.skip_assignment,
        "member_id": joined.member_id,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.instance_id,
                "metadata": member.metadata,
            }
            for member in joined.members
        ],
    }
