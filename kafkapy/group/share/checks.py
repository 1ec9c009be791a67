"""What makes a heartbeat invalid."""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.members import JOINING, LEAVING, invalid
from kafkapy.group.plan import Context
from kafkapy.group.share.events import ShareHeartbeat


def check_request(event: ShareHeartbeat, ctx: Context) -> None:
    """Whatever the group is like (KIP-932)."""
    if not ctx.settings.is_share_protocol_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if not event.group_id.strip():
        raise invalid("GroupId can't be empty.")
    if event.rack_id == "":
        raise invalid("RackId can't be empty.")
    if event.member_epoch == JOINING:
        if not event.subscribed_topics:
            raise invalid("SubscribedTopicNames must be set in first request.")
    elif event.member_epoch < LEAVING:
        raise invalid("MemberEpoch is invalid.")
