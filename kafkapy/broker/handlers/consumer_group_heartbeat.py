"""ConsumerGroupHeartbeat, v0-1 (KIP-848). v1 regular expressions, and the client makes its
member id; in v0 one that brings none is given one.
"""

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.groups.heartbeats import heartbeat_fields
from kafkapy.broker.requests.request import Answer, Call, Encoded, Fields
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.broker.security.authorizer.asking import describable, require
from kafkapy.core.errors import Refused
from kafkapy.group.consumer.events import ConsumerHeartbeat, ConsumerHeartbeatHeard
from kafkapy.group.consumer.member import Target
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.uuids import ZERO_UUID, uuid_to_text
from kafkapy.protocol.handwritten.heartbeat_response import pack_heartbeat_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kio.schema.consumer_group_heartbeat.v1.request import (
        ConsumerGroupHeartbeatRequest,
        TopicPartitions,
    )

    from kafkapy.broker.requests.needs import MakesMembers

CLIENT_MAKES_ID = 1


def handle(node: "MakesMembers", call: "Call[ConsumerGroupHeartbeatRequest]") -> Answer:
    body = call.body
    if node.authorizer is not None:
        for topic in body.subscribed_topic_names or ():
            require(node, call, Operation.DESCRIBE, ResourceType.TOPIC, topic)
    needs_id = not body.member_id and call.version < CLIENT_MAKES_ID
    event = ConsumerHeartbeat(
        body.group_id,
        body.member_id,
        body.member_epoch,
        call.client_id or "",
        f"/{call.peer.host}",
        uuid_to_text(node.rng.uuid()) if needs_id else "",
        body.instance_id,
        body.rack_id,
        millis(body.rebalance_timeout),
        body.subscribed_topic_names,
        optional(body, "subscribed_topic_regex", None),
        body.server_assignor,
        _owned(body.topic_partitions),
        needs_id,
        describable(node, call),
    )
    return ask(node.groups, event.group_id, event, partial(_answer, call))


def _owned(listed: "Sequence[TopicPartitions] | None") -> Target | None:
    if listed is None:
        return None
    return {one.topic_id or ZERO_UUID: frozenset(one.partitions) for one in listed}


def _answer(
    call: "Call[ConsumerGroupHeartbeatRequest]", reply: ConsumerHeartbeatHeard | Refused
) -> Fields | Encoded:
    if isinstance(reply, ConsumerHeartbeatHeard) and reply.assignment is None:
        packed = pack_heartbeat_response(
            call.correlation_id, reply.member_id, reply.member_epoch, reply.heartbeat_interval_ms
        )
        return Encoded((packed,))
    return heartbeat_fields(reply)
