"""Which timers a member of a consumer group has, and when they run."""

from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.consumer.member import Holding, MemberState, Profile
from kafkapy.group.members import LEAVING_FOR_A_WHILE
from kafkapy.group.plan import Context, Plan


def expect_member(group_id: str, profile: Profile, plan: Plan, ctx: Context) -> None:
    """The session: a member of the classic protocol brought its own timeout."""
    if profile.classic is not None:
        timeout_ms = profile.classic.session_timeout_ms
    else:
        timeout_ms = ctx.settings.session_timeout_ms(group_id)
    plan.timers[timers.session(group_id, profile.member_id)] = later(ctx.now, timeout_ms)


def expect_revocation(
    group_id: str, profile: Profile, holding: Holding, plan: Plan, ctx: Context
) -> None:
    """A member must give up its partitions within its rebalance timeout. Classic members
    have to rejoin instead, which has a timer of its own; who left for a while has nothing
    to give up."""
    if profile.is_classic:
        return
    key = timers.rebalance(group_id, profile.member_id)
    is_away = holding.epoch == LEAVING_FOR_A_WHILE
    if holding.state is MemberState.UNREVOKED_PARTITIONS and not is_away:
        plan.timers[key] = later(ctx.now, profile.rebalance_timeout_ms)
    else:
        plan.timers[key] = None


def clear_member_timers(plan: Plan, group_id: str, member_id: str) -> None:
    for kind in (timers.session, timers.rebalance, timers.member_join, timers.member_sync):
        plan.timers[kind(group_id, member_id)] = None
