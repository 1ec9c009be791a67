"""A classic rebalance: collect the members, then let the leader assign.

    prepare   those who wait for an assignment are sent back to Join
    ... joins arrive; an empty group waits the initial delay for more of them ...
    complete  who has not rejoined is out (static members stay), the generation grows,
              all joins are answered, and everybody has the rebalance timeout to sync

Every function works on a copy of the group.
"""

from dataclasses import replace

from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic import protocols
from kafkapy.group.classic.answers import joined, members_for_leader
from kafkapy.group.classic.events import Joined, Synced
from kafkapy.group.classic.group import ClassicGroup, ClassicMember, ClassicState, InitialDelay
from kafkapy.group.classic.members import expect_heartbeat, expect_nothing
from kafkapy.group.classic.stored import group_record
from kafkapy.group.plan import Context, Plan


def rebalance(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    """Something changed that the assignment depends on."""
    if group.can_rebalance:
        prepare(group, plan, ctx)
    else:
        complete_if_all_joined(group, plan, ctx)


def prepare(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    if group.state is ClassicState.COMPLETING_REBALANCE:
        _send_back_to_join(group, plan, ctx)
    group.pending_sync.clear()
    plan.timers[timers.sync(group.group_id)] = None
    was_empty = group.is_empty
    group.become(ClassicState.PREPARING_REBALANCE, ctx.wall)
    if was_empty:
        delay_ms = ctx.settings.initial_rebalance_delay_ms
        remaining_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.initial_delay = InitialDelay(delay_ms, remaining_ms)
        plan.timers[timers.join(group.group_id)] = later(ctx.now, delay_ms)
    elif group.has_all_members_joined:
        complete(group, plan, ctx)
    else:
        _wait_for_the_others(group, plan, ctx)


def complete_if_all_joined(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    """Not during the initial delay: its point is to wait for members not yet known."""
    if (
        group.state is ClassicState.PREPARING_REBALANCE
        and group.initial_delay is None
        and group.has_all_members_joined
    ):
        complete(group, plan, ctx)


def join_time_is_up(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    """The timer of the join phase, or of the initial delay."""
    if group.state is not ClassicState.PREPARING_REBALANCE:
        return
    delay = group.initial_delay
    if delay is not None and delay.has_new_member and delay.remaining_ms > 0:
        next_delay_ms = min(ctx.settings.initial_rebalance_delay_ms, delay.remaining_ms)
        group.initial_delay = InitialDelay(
            next_delay_ms, max(delay.remaining_ms - delay.delay_ms, 0)
        )
        plan.timers[timers.join(group.group_id)] = later(ctx.now, next_delay_ms)
    else:
        complete(group, plan, ctx)


def complete(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    plan.timers[timers.join(group.group_id)] = None
    group.initial_delay = None
    for member in list(group.members.values()):
        if not member.awaits_join and not member.is_static:
            group.remove(member.member_id)
            expect_nothing(group, member.member_id, plan)
    if group.members and not _has_joined_leader(group):
        # Static members only, and none of them is back: sessions will tell who is gone.
        _wait_for_the_others(group, plan, ctx)
        return
    group.generation += 1
    group.pending_sync.clear()
    if group.members:
        _begin_generation(group, plan, ctx)
    else:
        group.protocol_name = None
        group.leader = None
        group.subscribed_topics = protocols.topics_of_members(group)
        group.become(ClassicState.EMPTY, ctx.wall)
        plan.records.append(group_record(group))


def sync_time_is_up(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    """Members that joined and never asked for their assignment hold the others up."""
    if not group.pending_sync or group.state not in (
        ClassicState.COMPLETING_REBALANCE,
        ClassicState.STABLE,
    ):
        return
    for member_id in sorted(group.pending_sync):
        group.remove(member_id)
        expect_nothing(group, member_id, plan)
    prepare(group, plan, ctx)


def take_out(group: ClassicGroup, member: ClassicMember, plan: Plan) -> None:
    """Remove a member; one that waits is told, so that it joins again if it is alive."""
    if member.awaits_join:
        key = timers.waits_in_join(group.group_id, member.member_id)
        plan.answer(key, Joined(ErrorCode.UNKNOWN_MEMBER_ID))
    if member.awaits_sync:
        key = timers.waits_in_sync(group.group_id, member.member_id)
        plan.answer(key, Synced(ErrorCode.UNKNOWN_MEMBER_ID))
    group.remove(member.member_id)


def answer_sync(
    group: ClassicGroup, member: ClassicMember, answer: Synced, plan: Plan, ctx: Context
) -> None:
    """The member waits no longer; its heartbeats are expected again."""
    plan.answer(timers.waits_in_sync(group.group_id, member.member_id), answer)
    group.put(replace(member, awaits_sync=False))
    expect_heartbeat(group, member, plan, ctx)


def _send_back_to_join(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    """Assignments stay what the last generation was told: cooperative members still own
    those partitions, and an upgrade (migration/) must know."""
    for member in list(group.members.values()):
        if member.awaits_sync:
            answer_sync(group, member, Synced(ErrorCode.REBALANCE_IN_PROGRESS), plan, ctx)


def _wait_for_the_others(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    until = later(ctx.now, group.rebalance_timeout_ms)
    plan.timers[timers.join(group.group_id)] = until


def _has_joined_leader(group: ClassicGroup) -> bool:
    """The leader if it rejoined, else the first who did."""
    leader = group.members.get(group.leader) if group.leader is not None else None
    if leader is not None and leader.awaits_join:
        return True
    for member in group.members.values():
        if member.awaits_join:
            group.leader = member.member_id
            return True
    return False


def _begin_generation(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    group.protocol_name = protocols.select(group)
    group.subscribed_topics = protocols.topics_of_members(group)
    group.become(ClassicState.COMPLETING_REBALANCE, ctx.wall)
    everybody = members_for_leader(group)
    for member in list(group.members.values()):
        if member.awaits_join:
            is_leader = group.is_leader(member.member_id)
            answer = joined(group, member.member_id, everybody if is_leader else ())
            plan.answer(timers.waits_in_join(group.group_id, member.member_id), answer)
        group.put(replace(member, awaits_join=False, is_new=False))
        expect_heartbeat(group, member, plan, ctx)
    group.pending_sync.update(group.members)
    until = later(ctx.now, group.rebalance_timeout_ms)
    plan.timers[timers.sync(group.group_id)] = until
