"""A static member is back under a new id (KIP-345): it takes the place of its old one.

Stable, same protocol   no rebalance: the record is written, the answer is the current
                        generation. A leader must not assign again: v9+ is told so
                        (KIP-814), older ones are told of the old leader
Stable, other protocol  rebalance
CompletingRebalance     rebalance: the leader may be assigning to the old id
PreparingRebalance      it has rejoined
"""

from dataclasses import replace

from kafkapy.core.errors import ErrorCode
from kafkapy.group import timers
from kafkapy.group.classic import protocols
from kafkapy.group.classic.answers import joined, members_for_leader
from kafkapy.group.classic.events import Joined, JoinGroup, Synced
from kafkapy.group.classic.group import ClassicGroup, ClassicMember, ClassicState
from kafkapy.group.classic.members import expect_heartbeat, expect_nothing
from kafkapy.group.classic.rebalance import complete_if_all_joined, prepare
from kafkapy.group.classic.stored import group_record
from kafkapy.group.plan import Context, Plan


def take_over(
    event: JoinGroup, group: ClassicGroup, old_member_id: str, plan: Plan, ctx: Context
) -> None:
    old_leader = group.leader or ""
    old = group.members[old_member_id]
    _fence(group, old, plan)
    member = group.replace_id(old, event.fresh_member_id)
    _update(event, group, member)
    expect_heartbeat(group, group.members[member.member_id], plan, ctx)
    if group.state is ClassicState.STABLE:
        if protocols.select(group) == group.protocol_name:
            plan.records.append(group_record(group))
            plan.reply = _current_generation(event, group, old_leader)
        else:
            _wait(group, event.fresh_member_id, plan)
            prepare(group, plan, ctx)
    else:
        _wait(group, event.fresh_member_id, plan)
        if group.state is ClassicState.COMPLETING_REBALANCE:
            prepare(group, plan, ctx)
        else:
            complete_if_all_joined(group, plan, ctx)


def _fence(group: ClassicGroup, old: ClassicMember, plan: Plan) -> None:
    """Whoever still waits under the old id is not this instance any more."""
    error = ErrorCode.FENCED_INSTANCE_ID
    if old.awaits_join:
        key = timers.waits_in_join(group.group_id, old.member_id)
        plan.answer(key, Joined(error, old.member_id))
    if old.awaits_sync:
        key = timers.waits_in_sync(group.group_id, old.member_id)
        plan.answer(key, Synced(error))
    expect_nothing(group, old.member_id, plan)


def _update(event: JoinGroup, group: ClassicGroup, member: ClassicMember) -> None:
    group.put(
        replace(
            member,
            protocols=event.protocols,
            rebalance_timeout_ms=event.rebalance_timeout_ms,
            session_timeout_ms=event.session_timeout_ms,
        )
    )


def _wait(group: ClassicGroup, member_id: str, plan: Plan) -> None:
    group.put(replace(group.members[member_id], awaits_join=True))
    plan.park = timers.waits_in_join(group.group_id, member_id)


def _current_generation(event: JoinGroup, group: ClassicGroup, old_leader: str) -> Joined:
    answer = joined(group, event.fresh_member_id)
    if not event.can_skip_assignment:
        return answer._replace(leader=old_leader)
    if not group.is_leader(event.fresh_member_id):
        return answer
    return answer._replace(members=members_for_leader(group), skip_assignment=True)
