"""May this committer commit to, or fetch from, a classic group?"""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic.group import ClassicGroup, ClassicState
from kafkapy.group.classic.members import known_member
from kafkapy.group.offsets.events import Committer
from kafkapy.group.plan import Context, Plan


def check_committer(group: ClassicGroup, by: Committer, *, is_transactional: bool) -> None:
    """Nobody in particular may commit to an empty group only: an administrator, or a
    consumer that assigns itself. In a transaction old clients never say who they are."""
    if by.generation_or_epoch < 0 and group.is_empty:
        return
    if by.generation_or_epoch >= 0 or by.member_id or by.instance_id is not None:
        known_member(group, by.member_id, by.instance_id)
        if by.generation_or_epoch != group.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
    elif not is_transactional:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    if not is_transactional and group.state is ClassicState.COMPLETING_REBALANCE:
        # It knows the new generation already, so it can rejoin and then commit.
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)


def keep_session(group: ClassicGroup, by: Committer, plan: Plan, ctx: Context) -> None:
    """Who commits is alive."""
    member = group.members.get(by.member_id)
    if member is not None and not group.is_empty:
        key = timers.session(group.group_id, member.member_id)
        plan.timers[key] = later(ctx.now, member.session_timeout_ms)


def check_offset_deletion(group: ClassicGroup) -> None:
    """Of an active group only what consumers do not subscribe to can be deleted."""
    if not group.is_empty and not group.speaks_consumer_protocol:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)
