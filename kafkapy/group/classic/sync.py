"""SyncGroup: the leader brings the assignment, everybody takes theirs.

The group is Stable, and the assignments are a record, in the same step that answers all
members that wait; whoever comes later is answered from what is stored.
"""

from dataclasses import replace

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group import timers
from kafkapy.group.classic.answers import synced
from kafkapy.group.classic.events import Synced, SyncGroup
from kafkapy.group.classic.group import (
    ClassicGroup,
    ClassicGroupStands,
    ClassicMember,
    ClassicState,
)
from kafkapy.group.classic.members import known_member
from kafkapy.group.classic.rebalance import answer_sync
from kafkapy.group.classic.stored import group_record
from kafkapy.group.plan import Context, Plan


def sync(event: SyncGroup, standing: ClassicGroup, plan: Plan, ctx: Context) -> None:
    if standing.is_empty:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    member = known_member(standing, event.member_id, event.instance_id)
    if event.generation != standing.generation:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    if _differs(event.protocol_type, standing.protocol_type) or _differs(
        event.protocol_name, standing.protocol_name
    ):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if standing.state is ClassicState.PREPARING_REBALANCE:
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
    if standing.state is ClassicState.STABLE and not standing.pending_sync:
        plan.reply = synced(standing, member)
        return
    group = standing.copy()
    group.pending_sync.discard(member.member_id)
    if not group.pending_sync:
        plan.timers[timers.sync(group.group_id)] = None
    if group.state is ClassicState.STABLE:
        plan.reply = synced(group, member)
    else:
        _wait(group, member, plan)
        if group.is_leader(member.member_id):
            _assign(event, group, plan, ctx)
    plan.notes.append(ClassicGroupStands(group))


def _differs(said: str | None, known: str | None) -> bool:
    return said is not None and known is not None and said != known


def _wait(group: ClassicGroup, member: ClassicMember, plan: Plan) -> None:
    key = timers.waits_in_sync(group.group_id, member.member_id)
    if member.awaits_sync:
        plan.answer(key, Synced(ErrorCode.REBALANCE_IN_PROGRESS))
    group.put(replace(member, awaits_sync=True))
    plan.park = key


def _assign(event: SyncGroup, group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    """Whoever the leader forgot owns nothing."""
    assignments = dict(event.assignments)
    group.become(ClassicState.STABLE, ctx.wall)
    for member in list(group.members.values()):
        assigned = replace(member, assignment=assignments.get(member.member_id, b""))
        if assigned.awaits_sync:
            answer_sync(group, assigned, synced(group, assigned), plan, ctx)
        else:
            group.put(assigned)
    plan.records.append(group_record(group))
