"""LeaveGroup, and sessions that end: members go.

A batch may name static members by instance alone (an operator removes them, KIP-345).
"""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.classic.events import NO_MEMBER_ID, LeaveGroup, LeavingMember, Left, MemberLeft
from kafkapy.group.classic.group import ClassicGroup, ClassicGroupStands, ClassicState
from kafkapy.group.classic.members import expect_nothing, known_member
from kafkapy.group.classic.rebalance import complete_if_all_joined, rebalance, take_out
from kafkapy.group.plan import Context, Plan


def leave(event: LeaveGroup, standing: ClassicGroup, plan: Plan, ctx: Context) -> None:
    group = standing.copy()
    left = tuple(_leave_one(leaving, group, plan) for leaving in event.members)
    plan.reply = Left(left)
    if any(one.error is ErrorCode.NONE for one in left):
        _go_on_without(group, plan, ctx)
        plan.notes.append(ClassicGroupStands(group))


def session_ended(standing: ClassicGroup, member_id: str, plan: Plan, ctx: Context) -> None:
    """No heartbeat for a session timeout. Whoever waits for us is not to blame."""
    member = standing.members.get(member_id)
    if member is None and member_id not in standing.pending_members:
        return
    if member is not None and member.satisfies_heartbeat:
        return
    group = standing.copy()
    if member is not None:
        take_out(group, member, plan)
        _go_on_without(group, plan, ctx)
    else:
        group.remove(member_id)
        complete_if_all_joined(group, plan, ctx)
    plan.notes.append(ClassicGroupStands(group))


def _leave_one(leaving: LeavingMember, group: ClassicGroup, plan: Plan) -> MemberLeft:
    member_id, instance_id = leaving
    error = ErrorCode.NONE
    if member_id == NO_MEMBER_ID:
        holder = group.static_members.get(instance_id) if instance_id is not None else None
        if holder is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        else:
            _remove(group, holder, plan)
    elif member_id in group.pending_members:
        group.remove(member_id)
        expect_nothing(group, member_id, plan)
    else:
        try:
            known_member(group, member_id, instance_id)
        except Refused as refused:
            error = refused.code
        else:
            _remove(group, member_id, plan)
    return MemberLeft(member_id, instance_id, error)


def _remove(group: ClassicGroup, member_id: str, plan: Plan) -> None:
    take_out(group, group.members[member_id], plan)
    expect_nothing(group, member_id, plan)


def _go_on_without(group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        rebalance(group, plan, ctx)
    else:
        complete_if_all_joined(group, plan, ctx)
