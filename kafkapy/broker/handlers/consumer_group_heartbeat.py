"""ConsumerGroupHeartbeat, v0-1 (KIP-848). v1 regular expressions, and the client makes its
member id; in v0 one that brings none is given one.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.call import Answer, Call, Fields
from kafkapy.broker.group_calls import ask
from kafkapy.broker.wire import millis, optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.consumer.events import ConsumerHeartbeat
from kafkapy.group.consumer.member import Target
from kafkapy.kraft.uuids import uuid_to_text
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from kafkapy.broker.node import Node

CLIENT_MAKES_ID = 1


def handle(node: "Node", call: Call) -> Answer:
    body = call.body
    needs_id = not body.member_id and call.version < CLIENT_MAKES_ID
    event = ConsumerHeartbeat(
        group_id=body.group_id,
        member_id=body.member_id,
        member_epoch=body.member_epoch,
        client_id=call.client_id or "",
        client_host=f"/{call.peer.host}",
        fresh_member_id=uuid_to_text(node.rng.uuid()) if needs_id else "",
        instance_id=body.instance_id,
        rack_id=body.rack_id,
        rebalance_timeout_ms=millis(body.rebalance_timeout),
        subscribed_topics=body.subscribed_topic_names,
        subscribed_regex=optional(body, "subscribed_topic_regex", None),
        server_assignor=body.server_assignor,
        owned=_owned(body.topic_partitions),
        may_generate_id=needs_id,
    )
    return ask(node.groups, event.group_id, event, _answer)


def _owned(listed: Any) -> Target | None:
    if listed is None:
        return None
    return {one.topic_id: frozenset(one.partitions) for one in listed}


def _answer(reply: Any) -> Fields:
    if isinstance(reply, Refused):
        return {
            "throttle_time": 0,
            "error_code": reply.code,
            "error_message": message_of(reply),
            "member_id": None,
            "member_epoch": 0,
            "heartbeat_interval": 0,
            "assignment": None,
        }
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "member_id": reply.member_id,
        "member_epoch": reply.member_epoch,
        "heartbeat_interval": reply.heartbeat_interval_ms,
        "assignment": None if reply.assignment is None else _assignment(reply.assignment),
    }


def _assignment(assignment: Target) -> Fields:
    return {
        "topic_partitions": [
            {"topic_id": topic_id, "partitions": sorted(partitions)}
            for topic_id, partitions in assignment.items()
        ]
    }
