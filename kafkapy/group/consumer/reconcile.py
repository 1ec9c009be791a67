"""One step of a member towards its target.

    keep    what it owns and should own
    revoke  what it owns and should not; the member has to confirm that it gave it up
    add     what it should own, without what is still in another's hands

Before everything in `revoke` is confirmed nothing is added and the epoch stays; what is
not free yet is added by later heartbeats (UNRELEASED). So no partition has two owners.
"""

from collections.abc import Set
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.member import (
    OWNS_NOTHING,
    Holding,
    MemberState,
    Owned,
    Target,
)
from kafkapy.group.members import previous_epoch


class Reconciliation(NamedTuple):
    """`reported` is what the member says it owns, None if it does not say; `subscribed`
    are the ids of the topics it is subscribed to now."""

    member_id: str
    target_epoch: int
    target: Target
    reported: Target | None
    subscribed: Set[UUID]
    has_subscription_changed: bool


def next_holding(group: ConsumerGroup, holding: Holding, asked: Reconciliation) -> Holding:
    match holding.state:
        case MemberState.STABLE:
            if holding.epoch != asked.target_epoch:
                return _towards_target(group, holding, asked)
            return _without_unsubscribed(holding, asked)
        case MemberState.UNREVOKED_PARTITIONS:
            if _still_owns(holding.pending_revocation, asked.reported):
                return _without_unsubscribed(holding, asked)
            return _towards_target(group, holding, asked)
        case MemberState.UNRELEASED_PARTITIONS:
            return _towards_target(group, holding, asked)
        case MemberState.UNKNOWN:
            if asked.reported is None or any(asked.reported.values()):
                raise Refused(ErrorCode.FENCED_MEMBER_EPOCH)
            return _towards_target(group, holding, asked)


def _towards_target(group: ConsumerGroup, holding: Holding, asked: Reconciliation) -> Holding:
    kept: dict[UUID, dict[int, int]] = {}
    revoked: dict[UUID, dict[int, int]] = {}
    for topic_id, partitions in holding.assigned.items():
        wanted = asked.target.get(topic_id, frozenset())
        if topic_id not in asked.subscribed:
            wanted = frozenset()
        for partition, epoch in partitions.items():
            side = kept if partition in wanted else revoked
            side.setdefault(topic_id, {})[partition] = epoch
    if revoked and _still_owns(revoked, asked.reported):
        return _changed(holding, holding.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    is_waiting = False
    for topic_id, wanted in asked.target.items():
        if topic_id not in asked.subscribed:
            continue
        owned = kept.get(topic_id, {})
        for partition in wanted:
            if partition in owned:
                continue
            if group.is_free_for(asked.member_id, topic_id, partition):
                kept.setdefault(topic_id, {})[partition] = asked.target_epoch
            else:
                is_waiting = True
    state = MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE
    return _changed(holding, asked.target_epoch, state, kept, OWNS_NOTHING)


def _without_unsubscribed(holding: Holding, asked: Reconciliation) -> Holding:
    """A topic it does not want any more goes at once, before there is a new target."""
    if not asked.has_subscription_changed:
        return holding
    kept = {
        topic_id: partitions
        for topic_id, partitions in holding.assigned.items()
        if topic_id in asked.subscribed
    }
    if len(kept) == len(holding.assigned):
        return holding
    revoked = {topic_id: dict(owned) for topic_id, owned in holding.pending_revocation.items()}
    for topic_id, partitions in holding.assigned.items():
        if topic_id not in kept:
            revoked.setdefault(topic_id, {}).update(partitions)
    if _still_owns(revoked, asked.reported):
        return _changed(holding, holding.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    return _changed(holding, holding.epoch, holding.state, kept, OWNS_NOTHING)


def _changed(
    holding: Holding, epoch: int, state: MemberState, assigned: Owned, pending: Owned
) -> Holding:
    return replace(
        holding,
        epoch=epoch,
        previous_epoch=previous_epoch(holding, epoch),
        state=state,
        assigned=assigned,
        pending_revocation=pending,
    )


def _still_owns(pending: Owned, reported: Target | None) -> bool:
    """A member that does not say may still own everything."""
    if reported is None:
        return True
    return any(
        partition in pending.get(topic_id, {})
        for topic_id, partitions in reported.items()
        for partition in partitions
    )
