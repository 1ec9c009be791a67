"""What makes a heartbeat invalid, or its sender not the member it claims to be."""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.plan import Context
from kafkapy.group.share.events import ShareHeartbeat
from kafkapy.group.share.group import ShareGroup
from kafkapy.group.share.member import JOINING, LEAVING, Holding, Profile


def check_request(event: ShareHeartbeat, ctx: Context) -> None:
    """Whatever the group is like (KIP-932)."""
    if not ctx.settings.is_share_protocol_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if not event.group_id.strip():
        raise _invalid("GroupId can't be empty.")
    if event.rack_id == "":
        raise _invalid("RackId can't be empty.")
    if event.member_epoch == JOINING:
        if not event.subscribed_topics:
            raise _invalid("SubscribedTopicNames must be set in first request.")
    elif event.member_epoch < LEAVING:
        raise _invalid("MemberEpoch is invalid.")


def check_room(group: ShareGroup, member_id: str, ctx: Context) -> None:
    if len(group.profiles) >= ctx.settings.share_max_size and member_id not in group.profiles:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The share group has reached its maximum capacity of "
            f"{ctx.settings.share_max_size} members.",
        )


def check_epoch(holding: Holding, epoch: int) -> None:
    """A member may be one epoch behind if our answer was lost. Epoch 0 starts over."""
    if epoch == JOINING:
        return
    if epoch > holding.epoch:
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a greater member epoch ({epoch}) than the one known "
            f"by the group coordinator ({holding.epoch}). "
            "The member must abandon all its partitions and rejoin.",
        )
    if epoch < holding.epoch and epoch != holding.previous_epoch:
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a smaller member epoch ({epoch}) than the one known "
            f"by the group coordinator ({holding.epoch}). "
            "The member must abandon all its partitions and rejoin.",
        )


def known_member(group: ShareGroup, member_id: str) -> Profile:
    profile = group.profiles.get(member_id)
    if profile is None:
        raise Refused(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {member_id} is not a member of group {group.group_id}.",
        )
    return profile


def _invalid(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)
