"""How one partition changes: the rules of leadership, ISR, ELR and reassignment.

    what is wanted (isr, replicas, ...) --> complete a reassignment that can be completed
        --> eligible leader replicas --> elect --> a PartitionChangeRecord, or None

Everything that changes a partition goes through `PartitionChange.record`, so the rules
stand here once. formats/controller 2; KIP-966 for the eligible leader replicas (ELR).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.ids import NO_NODE
from kafkapy.kraft.features import DIRECTORY_ASSIGNMENT, NO_EPOCH_BUMP_ON_ISR_SHRINK
from kafkapy.kraft.image.topics import RECOVERING, PartitionState
from kafkapy.kraft.records.metadata import PartitionChangeRecord

Replicas = tuple[int, ...]


class Election(Enum):
    """ONLINE keeps a good leader; PREFERRED wants the first replica; UNCLEAN may lose
    records rather than stay without a leader."""

    ONLINE = 0
    PREFERRED = 1
    UNCLEAN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChange:
    """What is wanted of a partition; None leaves things as they are.

    is_acceptable      whether a replica could lead now: alive, its directory online
    unclean_shutdown   replicas that came back without having shut down: they may have
                       lost records that they had acknowledged
    lost               replicas that began anew, with nothing, since their directory is gone: they
                       lead again once they are in sync, or if somebody says so
    directories        where replicas say they keep the partition
    default_directory  where a replica that is new here will keep it
    """

    state: PartitionState
    topic_id: UUID
    index: int
    is_acceptable: Callable[[int], bool]
    min_isr: int
    metadata_version: int
    elr_enabled: bool
    default_directory: Callable[[int], UUID]
    election: Election = Election.ONLINE
    isr: Replicas | None = None
    replicas: Replicas | None = None
    removing: Replicas | None = None
    adding: Replicas | None = None
    recovery: int | None = None
    unclean_shutdown: Replicas = ()
    lost: Replicas = ()
    directories: Mapping[int, UUID] = field(default_factory=dict)

    def record(self) -> PartitionChangeRecord | None:
        state = self.state
        replicas = _or(self.replicas, state.replicas)
        removing = _or(self.removing, state.removing_replicas)
        adding = _or(self.adding, state.adding_replicas)
        isr = _or(self.isr, state.isr)
        if (removing or adding) and (done := completed(replicas, removing, isr)) is not None:
            replicas, isr = done
            removing = adding = ()
        # Fewer replicas than min.insync.replicas commit when all of them have a record.
        min_isr = min(self.min_isr, len(replicas))
        elr = self._eligible(replicas, isr, min_isr)
        leader, is_unclean = self._elected(replicas, isr, elr)
        if leader != state.leader and leader in elr:
            isr, elr = (leader,), without(elr, (leader,))
            if min_isr <= 1:
                # It may commit alone now: the others hold every committed record no more.
                elr = ()

        changes: dict[str, Any] = {}
        if leader != state.leader:
            changes["leader"] = leader
            if is_unclean:
                changes["isr"] = isr = (leader,)
                changes["leader_recovery_state"] = RECOVERING
        elif not set(state.replicas) <= set(replicas):
            # Replicas that left must learn that they are none: a new leader epoch tells.
            changes["leader"] = leader
        if is_unclean or not self.elr_enabled:
            elr = ()
        if (isr or self.elr_enabled) and isr != state.isr:
            changes["isr"] = isr
        if "isr" in changes and "leader" not in changes and self._shrink_bumps_epoch(isr):
            changes["leader"] = leader
        if elr != state.elr:
            changes["eligible_leader_replicas"] = elr
        changes |= self._last_known_leader(changes)
        changes |= self._assignment(replicas, removing, adding)
        if self.recovery is not None and self.recovery != state.leader_recovery_state:
            changes["leader_recovery_state"] = self.recovery
        if changes.get("leader_recovery_state") == state.leader_recovery_state:
            del changes["leader_recovery_state"]
        if not changes:
            return None
        return PartitionChangeRecord(partition_id=self.index, topic_id=self.topic_id, **changes)

    def _eligible(self, replicas: Replicas, isr: Replicas, min_isr: int) -> Replicas:
        """Replicas outside of the ISR that still hold every committed record: those that
        left it since it became smaller than min.insync.replicas."""
        if not self.elr_enabled:
            # From when it was: they count where nobody led since, and nothing was committed.
            return () if self.state.isr else self.state.elr
        if len(isr) >= min_isr:
            return ()
        # Who is moved away is nobody to wait for.
        candidates = sorted({*self.state.elr, *self.state.isr} & {*replicas})
        return without(candidates, (*isr, *self.unclean_shutdown, *self.lost))

    def _elected(self, replicas: Replicas, isr: Replicas, elr: Replicas) -> tuple[int, bool]:
        """The leader (NO_NODE if there is none), and whether records may be lost."""
        electable = isr or elr
        valid = [one for one in replicas if one in electable and self.is_acceptable(one)]
        if self.election is Election.PREFERRED and valid and valid[0] == replicas[0]:
            return valid[0], False
        if self.state.leader in electable and self.is_acceptable(self.state.leader):
            return self.state.leader, False
        if valid:
            return valid[0], False
        if self._last_known_can_lead(isr, elr):
            return self.state.last_known_elr[0], True
        if self.election is Election.UNCLEAN:
            for one in replicas:
                if self.is_acceptable(one):
                    return one, True
        return NO_NODE, False

    def _last_known_can_lead(self, isr: Replicas, elr: Replicas) -> bool:
        last_known = self.state.last_known_elr
        return (
            self.elr_enabled
            and not isr
            and not elr
            and len(last_known) == 1
            and last_known[0] not in self.lost
            and self.is_acceptable(last_known[0])
        )

    def _last_known_leader(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        if not self.elr_enabled:
            return {}
        state, leader = self.state, changes.get("leader", self.state.leader)
        known = without(state.last_known_elr, self.lost)
        if "leader" in changes and leader != NO_NODE:
            known = ()
        elif "leader" in changes and state.has_leader and not known:
            known = without((state.leader,), self.lost)
        elif changes.get("isr") == () and len(state.isr) == 1 and not state.has_leader:
            # Without ELR the last in sync stays in the ISR when it leads no more.
            known = known or without(state.isr, self.lost)
        return {} if known == state.last_known_elr else {"last_known_elr": known}

    def _shrink_bumps_epoch(self, isr: Replicas) -> bool:
        return self.metadata_version < NO_EPOCH_BUMP_ON_ISR_SHRINK and not (
            set(self.state.isr) <= set(isr)
        )

    def _assignment(
        self, replicas: Replicas, removing: Replicas, adding: Replicas
    ) -> dict[str, Any]:
        state, changes = self.state, dict[str, Any]()
        if self.metadata_version >= DIRECTORY_ASSIGNMENT:
            known = dict(zip(state.replicas, state.directories, strict=True)) | dict(
                self.directories
            )
            directories = tuple(
                known[one] if one in known else self.default_directory(one) for one in replicas
            )
            if directories != state.directories:
                changes["directories"] = directories
        if replicas != state.replicas:
            changes["replicas"] = replicas
        if removing != state.removing_replicas:
            changes["removing_replicas"] = removing
        if adding != state.adding_replicas:
            changes["adding_replicas"] = adding
        return changes


def completed(
    replicas: Replicas, removing: Replicas, isr: Replicas
) -> tuple[Replicas, Replicas] | None:
    """Replicas and ISR once the reassignment is done; None while it is not: the ISR must
    hold every replica that stays."""
    staying, in_sync = without(replicas, removing), without(isr, removing)
    if staying and in_sync and set(staying) <= set(in_sync):
        return staying, in_sync
    return None


def without(replicas: Iterable[int], others: Iterable[int]) -> Replicas:
    unwanted = frozenset(others)
    return tuple(one for one in replicas if one not in unwanted)


def _or(wanted: Replicas | None, standing: Replicas) -> Replicas:
    return standing if wanted is None else wanted
