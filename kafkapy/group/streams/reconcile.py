"""One step of a member towards its target.

    keep    tasks that it has and should have
    revoke  what it has and should not; the member has to confirm that it gave it up
    add     what it should have, without what is not free

Not free is an active task in anybody's hands, and any task of which the member's own process
still has something else: two of its members would use the same state directory. Before everything
in `revoke` is confirmed nothing is added and the epoch stays below the target's; what is not free
yet is added by later heartbeats (UNRELEASED). So no task is active twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.members import previous_epoch
from kafkapy.group.streams.group import StreamsGroup
from kafkapy.group.streams.member import (
    NO_HOLD,
    Held,
    Holding,
    MemberState,
    Owned,
    Profile,
    Target,
    Tasks,
    overlap,
)

IsFree = Callable[[str, int], bool]


class Reconciliation(NamedTuple):
    """`reported` is what the member says it has, None if it does not say."""

    profile: Profile
    target_epoch: int
    target: Target
    reported: Target | None


def next_holding(group: StreamsGroup, holding: Holding, asked: Reconciliation) -> Holding:
    match holding.state:
        case MemberState.STABLE:
            if holding.epoch == asked.target_epoch:
                return holding
            return _towards_target(group, holding, holding.epoch, asked)
        case MemberState.UNREVOKED_TASKS:
            if _still_has(holding.pending_revocation, asked.reported):
                return holding
            # Who has given tasks up is past the epoch at which it had them.
            return _towards_target(group, holding, holding.epoch + 1, asked)
        case MemberState.UNRELEASED_TASKS:
            return _towards_target(group, holding, holding.epoch, asked)
        case MemberState.UNKNOWN:
            if asked.reported is None or not asked.reported.is_empty:
                raise Refused(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The streams group member is in an unknown state. The member must abandon "
                    "all its tasks and rejoin.",
                )
            return _towards_target(group, holding, asked.target_epoch, asked)


def _towards_target(
    group: StreamsGroup, holding: Holding, epoch: int, asked: Reconciliation
) -> Holding:
    process_id, target = asked.profile.process_id, asked.target
    has, target_epoch = holding.assigned, asked.target_epoch

    def is_free_active(subtopology: str, partition: int) -> bool:
        task = (subtopology, partition)
        return task not in group.owners and not group.is_kept_by(process_id, task)

    def is_free_copy(subtopology: str, partition: int) -> bool:
        task = (subtopology, partition)
        return not group.is_run_by(process_id, task) and not group.is_kept_by(process_id, task)

    kept = Held(
        _kept_active(has.active, target.active),
        _shared(has.standby, target.standby),
        _shared(has.warmup, target.warmup),
    )
    revoked = Held(
        _lost_active(has.active, target.active),
        _without(has.standby, target.standby),
        _without(has.warmup, target.warmup),
    )
    if not revoked.is_empty and _still_has(revoked, asked.reported):
        return _changed(holding, epoch, MemberState.UNREVOKED_TASKS, kept, revoked)
    active, waits = _added_active(kept.active, target.active, target_epoch, is_free_active)
    standby, waits_too = _added(kept.standby, target.standby, is_free_copy)
    warmup, waits_as_well = _added(kept.warmup, target.warmup, is_free_copy)
    is_waiting = waits or waits_too or waits_as_well
    state = MemberState.UNRELEASED_TASKS if is_waiting else MemberState.STABLE
    return _changed(holding, target_epoch, state, Held(active, standby, warmup), NO_HOLD)


def _kept_active(has: Owned, wanted: Tasks) -> Owned:
    kept = {
        one: {p: epoch for p, epoch in partitions.items() if p in wanted.get(one, ())}
        for one, partitions in has.items()
    }
    return {one: partitions for one, partitions in kept.items() if partitions}


def _lost_active(has: Owned, wanted: Tasks) -> Owned:
    lost = {
        one: {p: epoch for p, epoch in partitions.items() if p not in wanted.get(one, ())}
        for one, partitions in has.items()
    }
    return {one: partitions for one, partitions in lost.items() if partitions}


def _shared(has: Tasks, wanted: Tasks) -> Tasks:
    shared = {one: partitions & wanted.get(one, frozenset()) for one, partitions in has.items()}
    return {one: partitions for one, partitions in shared.items() if partitions}


def _without(has: Tasks, wanted: Tasks) -> Tasks:
    lost = {one: partitions - wanted.get(one, frozenset()) for one, partitions in has.items()}
    return {one: partitions for one, partitions in lost.items() if partitions}


def _added_active(kept: Owned, wanted: Tasks, epoch: int, is_free: IsFree) -> tuple[Owned, bool]:
    found: dict[str, Mapping[int, int]] = dict(kept)
    is_waiting = False
    for one, partitions in wanted.items():
        has = kept.get(one, {})
        free = {p: epoch for p in partitions if p not in has and is_free(one, p)}
        is_waiting = is_waiting or len(free) + len(has) < len(partitions)
        if free:
            found[one] = {**has, **free}
    return found, is_waiting


def _added(kept: Tasks, wanted: Tasks, is_free: IsFree) -> tuple[Tasks, bool]:
    found = dict(kept)
    is_waiting = False
    for one, partitions in wanted.items():
        has = kept.get(one, frozenset())
        free = {p for p in partitions if p not in has and is_free(one, p)}
        is_waiting = is_waiting or len(free) + len(has) < len(partitions)
        if free:
            found[one] = has | free
    return found, is_waiting


def _changed(
    holding: Holding, epoch: int, state: MemberState, assigned: Held, pending: Held
) -> Holding:
    return replace(
        holding,
        epoch=epoch,
        previous_epoch=previous_epoch(holding, epoch),
        state=state,
        assigned=assigned,
        pending_revocation=pending,
    )


def _still_has(pending: Held, reported: Target | None) -> bool:
    """A member that does not say may still have everything."""
    if reported is None:
        return True
    return (
        overlap(pending.active, reported.active)
        or overlap(pending.standby, reported.standby)
        or overlap(pending.warmup, reported.warmup)
    )
