"""StreamsGroupHeartbeat: a member says what changed, and hears which tasks it should have.

    who is it      a new member, or a known one at its epoch
    what changed   its profile; the first one brings the topology
    new epoch      targets.py: if members, topics or settings changed
    new targets    targets.py, sticky.py: if the epoch grew and no delay is due
    reconcile      reconcile.py: one step of this member towards its target

A heartbeat that changes nothing, which is nearly every one, writes nothing.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.group import timers
from kafkapy.group.members import JOINING, check_epoch, check_room, known_member
from kafkapy.group.plan import Context, Plan
from kafkapy.group.streams.checks import check_owned, is_within
from kafkapy.group.streams.configure import Configured, Status, StatusCode
from kafkapy.group.streams.endpoints import by_endpoint
from kafkapy.group.streams.events import StreamsHeartbeat, StreamsHeartbeatHeard
from kafkapy.group.streams.group import EndpointsMoved, ShutDownAsked, StreamsDraft
from kafkapy.group.streams.member import (
    NOTHING,
    Holding,
    MemberState,
    Profile,
    Target,
    tasks_of,
)
from kafkapy.group.streams.reconcile import Reconciliation, next_holding
from kafkapy.group.streams.stored import (
    epoch_record,
    holding_record,
    member_tombstones,
    profile_record,
    topology_record,
)
from kafkapy.group.streams.targets import delay_first, update_epoch, update_targets
from kafkapy.group.streams.topology import Topology, topology_from


def heartbeat(event: StreamsHeartbeat, draft: StreamsDraft, ctx: Context, *, is_new: bool) -> None:
    """`is_new`: the group comes to be with this heartbeat."""
    group, member_id = draft.group, event.member_id
    if event.member_epoch == JOINING:
        check_room("streams", group, member_id, ctx.settings.streams_max_size)
    else:
        known_member(group, member_id)
    before, was_empty = group.holding(member_id), group.is_empty
    # Asked only of one that is behind: nearly none is, and a list may be long.
    is_behind = event.member_epoch < before.epoch
    has_no_more = not is_behind or is_within(event.owned, before)
    check_epoch("streams", before, event.member_epoch, has_no_more=has_no_more)
    standing = group.profiles.get(member_id)
    profile = _updated(standing or Profile(member_id), event)
    if profile != standing:
        draft.write(profile_record(draft.group_id, profile))
    topology = _topology(event, draft)
    has_changed = profile != standing
    configured = update_epoch(draft, topology, ctx, has_changed=has_changed, is_new=is_new)
    check_owned(event.owned, configured)
    if was_empty:
        delay_first(draft, ctx)
    delay = update_targets(draft, configured, ctx)
    after = _reconcile(draft, profile, event.owned, ctx)
    expect_member(draft.group_id, profile, draft.plan, ctx)
    if event.shuts_down:
        draft.note(ShutDownAsked(draft.group_id, member_id))
    has_moved = event.member_epoch == JOINING or after.assigned != before.assigned
    if has_moved and profile.user_endpoint is not None and not is_new:
        draft.note(EndpointsMoved(draft.group_id, draft.group.endpoint_epoch + 1))
    group = draft.group
    draft.plan.reply = StreamsHeartbeatHeard(
        member_id,
        after.epoch,
        ctx.settings.streams_heartbeat_ms(draft.group_id),
        tuple(_statuses(profile, topology, delay, configured, group.shut_down_by)),
        _tasks(after) if has_moved or _knows_others(event, before, after) else None,
        group.endpoint_epoch,
        by_endpoint(group, member_id, configured, ctx.topics)
        if group.endpoint_epoch != event.endpoint_epoch
        else None,
        configured.missing,
    )


def leave(event: StreamsHeartbeat, draft: StreamsDraft) -> None:
    if event.shuts_down:
        draft.note(ShutDownAsked(draft.group_id, event.member_id))
    known_member(draft.group, event.member_id)
    draft.plan.reply = StreamsHeartbeatHeard(event.member_id, event.member_epoch, 0)
    take_out(draft, event.member_id)


def take_out(draft: StreamsDraft, member_id: str) -> None:
    """What it had is free, and the next epoch assigns it to others."""
    draft.write_all(member_tombstones(draft.group_id, member_id))
    for kind in (timers.session, timers.rebalance):
        draft.plan.timers[kind(draft.group_id, member_id)] = None
    group = draft.group
    draft.write(
        epoch_record(
            group.group_id,
            group.epoch + 1,
            group.metadata_hash,
            group.validated_topology_epoch,
            group.assignment_configs,
        )
    )


def expect_member(group_id: str, profile: Profile, plan: Plan, ctx: Context) -> None:
    timeout_ms = ctx.settings.streams_session_ms(group_id)
    plan.timers[timers.session(group_id, profile.member_id)] = later(ctx.now, timeout_ms)


def expect_revocation(
    group_id: str, profile: Profile, holding: Holding, plan: Plan, ctx: Context
) -> None:
    """A member must give up its tasks within its rebalance timeout."""
    key = timers.rebalance(group_id, profile.member_id)
    if holding.state is MemberState.UNREVOKED_TASKS:
        plan.timers[key] = later(ctx.now, profile.rebalance_timeout_ms)
    else:
        plan.timers[key] = None


def _updated(profile: Profile, event: StreamsHeartbeat) -> Profile:
    """None (-1 for the timeout) leaves a field as it is."""
    timeout_ms = event.rebalance_timeout_ms
    tags = event.client_tags
    said: dict[str, Any] = {
        "rack_id": event.rack_id or profile.rack_id,
        "client_id": event.client_id,
        "client_host": event.client_host,
        "rebalance_timeout_ms": profile.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        "topology_epoch": (
            profile.topology_epoch if event.topology is None else event.topology.epoch
        ),
        "process_id": profile.process_id if event.process_id is None else event.process_id,
        "user_endpoint": event.user_endpoint or profile.user_endpoint,
        "client_tags": profile.client_tags if tags is None else tuple(sorted(dict(tags).items())),
    }
    if all(getattr(profile, name) == value for name, value in said.items()):
        return profile
    return replace(profile, **said)


def _topology(event: StreamsHeartbeat, draft: StreamsDraft) -> Topology:
    """The group's; the first member that joins brings it."""
    standing = draft.group.topology
    if event.topology is None:
        if standing is None:
            raise Refused(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The group's topology is not known. The member must rejoin and bring it.",
            )
        return standing
    brought = topology_from(event.topology)
    if standing is None:
        draft.write(topology_record(draft.group_id, event.topology))
        return brought
    if brought.epoch >= standing.epoch and not brought.is_like(standing):
        raise Refused(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return standing


def _reconcile(
    draft: StreamsDraft, profile: Profile, reported: Target | None, ctx: Context
) -> Holding:
    group = draft.group
    holding = group.holding(profile.member_id)
    if holding.is_reconciled_to(group.assignment_epoch):
        return holding
    target = NOTHING if group.is_delayed else group.target(profile.member_id)
    asked = Reconciliation(profile, group.assignment_epoch, target, reported)
    after = next_holding(group, holding, asked)
    if after != holding:
        draft.write(holding_record(group.group_id, profile.member_id, after))
        expect_revocation(group.group_id, profile, after, draft.plan, ctx)
    return after


def _statuses(
    profile: Profile,
    topology: Topology,
    delay: Status | None,
    configured: Configured,
    shut_down_by: str | None,
) -> Iterable[Status]:
    if profile.topology_epoch < topology.epoch:
        yield Status(
            StatusCode.STALE_TOPOLOGY,
            f"The member's topology epoch {profile.topology_epoch} is behind the group's topology "
            f"epoch {topology.epoch}.",
        )
    if delay is not None:
        yield delay
    if configured.problem is not None:
        yield configured.problem
    if shut_down_by is not None:
        yield Status(
            StatusCode.SHUTDOWN_APPLICATION,
            f"Streams group member {shut_down_by} encountered a fatal error and requested a "
            "shutdown for the entire application.",
        )


def _knows_others(event: StreamsHeartbeat, before: Holding, after: Holding) -> bool:
    """It is behind, or says that it has other tasks than it should: it missed an answer. Java's
    client says what it has, and nothing else, after every answer that it did not get or that was an
    error. Not told, it would not run what came free for it, nor give up what others wait for.
    (Apache Kafka 4.3 does not tell it then; it learns of its tasks when they change.)"""
    if event.member_epoch != before.epoch:
        return True
    return event.owned is not None and event.owned != _tasks(after)


def _tasks(holding: Holding) -> Target:
    assigned = holding.assigned
    return Target(tasks_of(assigned.active), assigned.standby, assigned.warmup)
