"""ShareGroupHeartbeat, v1 (KIP-932). A member's id is its own, made by the client.

Partitions that the group has not read yet are told to the share coordinator once the answer
leaves; later heartbeats bring them.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.groups.asking import ask
from kafkapy.broker.groups.heartbeats import heartbeat_fields
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.broker.share.request_checks import check_member_id
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.share.events import ShareHeartbeat, ShareHeartbeatHeard
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.share_group_heartbeat.v1.request import ShareGroupHeartbeatRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasShares

    class Needs(HasAuthorizer, HasGroups, HasShares, Protocol): ...


def handle(node: "Needs", call: "Call[ShareGroupHeartbeatRequest]") -> Answer:
    body = call.body
    if not node.shares.settings.is_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if node.authorizer is not None:
        require(node, call, Operation.READ, ResourceType.GROUP, body.group_id)
        for topic in body.subscribed_topic_names or ():
            require(node, call, Operation.DESCRIBE, ResourceType.TOPIC, topic)
    check_member_id(body.member_id)
    event = ShareHeartbeat(
        body.group_id,
        body.member_id,
        body.member_epoch,
        call.client_id or "",
        f"/{call.peer.host}",
        body.rack_id,
        body.subscribed_topic_names,
    )

    def answer(reply: ShareHeartbeatHeard | Refused) -> Fields:
        if isinstance(reply, ShareHeartbeatHeard) and reply.to_initialize is not None:
            node.shares.initialize(reply.to_initialize)
        return heartbeat_fields(reply)

    return ask(node.groups, event.group_id, event, answer)
