"""JoinGroup: a member comes, comes back, or comes with other metadata.

no id yet   static: takes its instance's place (static_members.py) or a new one
            dynamic: v4+ gets an id and has to ask again with it (KIP-394)
pending id  the second step of that: now it is a member
known id    during a rebalance it has rejoined; else it causes one, unless nothing it
            says is new (a lost answer is simply given again)
"""

from dataclasses import replace

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.classic import protocols, static_members
from kafkapy.group.classic.answers import joined, members_for_leader
from kafkapy.group.classic.events import NO_MEMBER_ID, Joined, JoinGroup
from kafkapy.group.classic.group import (
    ClassicGroup,
    ClassicGroupStands,
    ClassicMember,
    ClassicState,
    empty_group,
)
from kafkapy.group.classic.members import expect_nothing, known_member
from kafkapy.group.classic.rebalance import complete_if_all_joined, rebalance
from kafkapy.group.classic.stored import group_record
from kafkapy.group.plan import Context, Plan


def check(event: JoinGroup, ctx: Context) -> None:
    """What is wrong with the request whatever the group is like."""
    if not event.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    settings = ctx.settings
    timeout_ms = event.session_timeout_ms
    if not settings.min_session_timeout_ms <= timeout_ms <= settings.max_session_timeout_ms:
        raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT)


def join(event: JoinGroup, standing: ClassicGroup | None, plan: Plan, ctx: Context) -> None:
    is_unknown = event.member_id == NO_MEMBER_ID
    if standing is None:
        if not is_unknown:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        group = empty_group(event.group_id, ctx.wall)
    else:
        group = standing.copy()
    if not _has_room_for(group, event.member_id, ctx):
        _turn_away(event, group, plan, ctx)
        return
    if not protocols.are_supported(group, event.protocol_type, event.protocols):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if standing is None:
        # Others may look for the group before its first rebalance is complete.
        plan.records.append(group_record(group))
    if is_unknown:
        _join_new(event, group, plan, ctx)
    else:
        _join_known(event, group, plan, ctx)
    plan.notes.append(ClassicGroupStands(group))


def add_member(
    event: JoinGroup, group: ClassicGroup, member_id: str, plan: Plan, ctx: Context
) -> None:
    if group.initial_delay is not None:
        group.initial_delay = replace(group.initial_delay, has_new_member=True)
    group.put(
        ClassicMember(
            member_id=member_id,
            instance_id=event.instance_id,
            client_id=event.client_id,
            client_host=event.client_host,
            rebalance_timeout_ms=event.rebalance_timeout_ms,
            session_timeout_ms=event.session_timeout_ms,
            protocol_type=event.protocol_type,
            protocols=event.protocols,
            is_new=True,
            awaits_join=True,
        )
    )
    plan.park = timers.waits_in_join(group.group_id, member_id)
    # It does not know its id and cannot send heartbeats. A client that gave up and came
    # again left such a member behind: this ends it.
    until = later(ctx.now, ctx.settings.new_member_join_timeout_ms)
    plan.timers[timers.session(group.group_id, member_id)] = until
    rebalance(group, plan, ctx)


def rejoin(event: JoinGroup, group: ClassicGroup, member: ClassicMember, plan: Plan) -> None:
    """The member waits in Join, with what it says now. An earlier Join of it is answered:
    its client has given that one up."""
    key = timers.waits_in_join(group.group_id, member.member_id)
    if member.awaits_join:
        plan.answer(key, Joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
    group.put(
        replace(
            member,
            protocols=event.protocols,
            rebalance_timeout_ms=event.rebalance_timeout_ms,
            session_timeout_ms=event.session_timeout_ms,
            awaits_join=True,
        )
    )
    plan.park = key


def _has_room_for(group: ClassicGroup, member_id: str, ctx: Context) -> bool:
    """group.max.size bounds new members; during a rebalance also those who rejoin last,
    in case the bound was lowered."""
    if group.is_empty:
        return True
    if group.state is ClassicState.PREPARING_REBALANCE:
        member = group.members.get(member_id)
        if member is not None and member.awaits_join:
            return True
        return group.awaiting_join < ctx.settings.max_size
    return member_id in group.members or len(group.members) < ctx.settings.max_size


def _turn_away(event: JoinGroup, group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    plan.reply = Joined(ErrorCode.GROUP_MAX_SIZE_REACHED)
    if event.member_id != NO_MEMBER_ID:
        group.remove(event.member_id)
        expect_nothing(group, event.member_id, plan)
        complete_if_all_joined(group, plan, ctx)
        plan.notes.append(ClassicGroupStands(group))


def _join_new(event: JoinGroup, group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    if event.instance_id is not None:
        holder = group.static_members.get(event.instance_id)
        if holder is not None:
            static_members.take_over(event, group, holder, plan, ctx)
        else:
            add_member(event, group, event.fresh_member_id, plan, ctx)
    elif event.needs_known_member_id:
        group.pending_members.add(event.fresh_member_id)
        key = timers.session(group.group_id, event.fresh_member_id)
        plan.timers[key] = later(ctx.now, event.session_timeout_ms)
        plan.reply = Joined(ErrorCode.MEMBER_ID_REQUIRED, event.fresh_member_id)
    else:
        add_member(event, group, event.fresh_member_id, plan, ctx)


def _join_known(event: JoinGroup, group: ClassicGroup, plan: Plan, ctx: Context) -> None:
    if event.member_id in group.pending_members and event.instance_id is None:
        add_member(event, group, event.member_id, plan, ctx)
        return
    member = known_member(group, event.member_id, event.instance_id)
    is_same = member.protocols == event.protocols
    is_leader = group.is_leader(member.member_id)
    match group.state:
        case ClassicState.PREPARING_REBALANCE:
            rejoin(event, group, member, plan)
            rebalance(group, plan, ctx)
        case ClassicState.COMPLETING_REBALANCE if is_same:
            # It did not get the answer to its Join: here it is again.
            everybody = members_for_leader(group) if is_leader else ()
            plan.reply = joined(group, member.member_id, everybody)
        case ClassicState.STABLE if is_same and not is_leader:
            plan.reply = joined(group, member.member_id)
        case ClassicState.STABLE | ClassicState.COMPLETING_REBALANCE:
            # A leader that joins again saw something the assignment depends on.
            rejoin(event, group, member, plan)
            rebalance(group, plan, ctx)
        case ClassicState.EMPTY:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
