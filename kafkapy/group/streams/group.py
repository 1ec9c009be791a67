"""A streams group: the fold of its records, with what follows from them at hand.

Epochs are those of a consumer group (consumer/group.py); `validated_topology_epoch` is the
topology's if the topics were fit for it. `apply` is the only writer, of the group itself or of
the copy a decision works on. It takes records in any order that compaction may leave behind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.group.draft import Draft
from kafkapy.group.records import Pair
from kafkapy.group.records.streams import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMetadataKey,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTopologyKey,
)
from kafkapy.group.streams import stored
from kafkapy.group.streams.configure import Configured
from kafkapy.group.streams.member import (
    NEW_HOLDING,
    NOTHING,
    Holding,
    Profile,
    Target,
    Task,
)
from kafkapy.group.streams.topology import Topology, topology_from

# Before anything was assigned; the first epoch that is written is the next.
FIRST_EPOCH: Final = 1


class StreamsGroupState(Enum):
    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@dataclass(slots=True)
class StreamsGroup:
    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    validated_topology_epoch: int = -1
    assignment_configs: Mapping[str, str] = field(default_factory=dict)
    assignment_epoch: int = FIRST_EPOCH
    assignment_timestamp: int = 0
    topology: Topology | None = None
    profiles: dict[str, Profile] = field(default_factory=dict)
    holdings: dict[str, Holding] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    # What follows from the holdings: who has a task active, and who has a copy of its state.
    owners: dict[Task, str] = field(default_factory=dict)
    keepers: dict[Task, frozenset[str]] = field(default_factory=dict)
    # Soft: the topology against the topics (which may have changed since, or before we led),
    # whether the first assignment waits for more members, how often partitions moved between
    # endpoints, and who asked for the end of the application.
    configured: Configured | None = None
    wants_refresh: bool = True
    is_delayed: bool = False
    endpoint_epoch: int = 0
    shut_down_by: str | None = None

    def copy(self) -> "StreamsGroup":
        return StreamsGroup(
            self.group_id,
            self.epoch,
            self.metadata_hash,
            self.validated_topology_epoch,
            self.assignment_configs,
            self.assignment_epoch,
            self.assignment_timestamp,
            self.topology,
            dict(self.profiles),
            dict(self.holdings),
            dict(self.targets),
            dict(self.owners),
            dict(self.keepers),
            self.configured,
            self.wants_refresh,
            self.is_delayed,
            self.endpoint_epoch,
            self.shut_down_by,
        )

    # Reading

    @property
    def is_empty(self) -> bool:
        return not self.profiles

    def holding(self, member_id: str) -> Holding:
        return self.holdings.get(member_id, NEW_HOLDING)

    def target(self, member_id: str) -> Target:
        return self.targets.get(member_id, NOTHING)

    def is_kept_by(self, process_id: str, task: Task) -> bool:
        """Whether a copy of the task's state is in the hands of a member of that process."""
        return any(
            (profile := self.profiles.get(member_id)) is not None
            and profile.process_id == process_id
            for member_id in self.keepers.get(task, ())
        )

    def is_run_by(self, process_id: str, task: Task) -> bool:
        profile = self.profiles.get(self.owners.get(task, ""))
        return profile is not None and profile.process_id == process_id

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether its members commit offsets of the topic."""
        return bool(self.profiles) and self.topology is not None and topic in self.topology.readers

    def is_subscribed_to_any(self, topics: frozenset[str]) -> bool:
        return self.topology is not None and not topics.isdisjoint(self.topology.required)

    def state(self) -> StreamsGroupState:
        if not self.profiles:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        for member_id in self.profiles:
            if not self.holding(member_id).is_reconciled_to(self.assignment_epoch):
                return StreamsGroupState.RECONCILING
        return StreamsGroupState.STABLE

    def members(self) -> Iterator[tuple[Profile, Holding]]:
        for member_id, profile in self.profiles.items():
            yield profile, self.holding(member_id)

    def tombstones(self) -> list[Pair]:
        return stored.group_tombstones(
            self.group_id, {*self.profiles, *self.holdings, *self.targets}
        )

    # Writing

    def note(self, note: "StreamsNote") -> None:
        match note:
            case StreamsRefreshWanted():
                self.wants_refresh = note.is_wanted
            case TopologyConfigured():
                self.configured = note.configured
            case AssignmentDelayed():
                self.is_delayed = note.is_delayed
            case EndpointsMoved():
                self.endpoint_epoch = note.epoch
            case ShutDownAsked():
                self.shut_down_by = self.shut_down_by or note.member_id

    def apply(self, record: Pair) -> None:
        key, value = record
        match key:
            case StreamsGroupCurrentMemberAssignmentKey():
                self._hold(key.member_id, None if value is None else stored.holding_from(value))
            case StreamsGroupMemberMetadataKey():
                if value is not None:
                    self.profiles[key.member_id] = stored.profile_from(key.member_id, value)
                    return
                self.profiles.pop(key.member_id, None)
                if not self.profiles:
                    self.shut_down_by = None
            case StreamsGroupTargetAssignmentMemberKey():
                if value is None:
                    self.targets.pop(key.member_id, None)
                else:
                    self.targets[key.member_id] = stored.target_from(value)
            case StreamsGroupTargetAssignmentMetadataKey():
                self.assignment_epoch = FIRST_EPOCH if value is None else value.assignment_epoch
                self.assignment_timestamp = 0 if value is None else value.assignment_timestamp
            case StreamsGroupTopologyKey():
                self.topology = None if value is None else topology_from(value)
                self.configured = None
            case StreamsGroupMetadataKey():
                # Its tombstone removes the whole group: that is for whoever holds it.
                assert value is not None, record
                self.epoch = value.epoch
                self.metadata_hash = value.metadata_hash
                self.validated_topology_epoch = value.validated_topology_epoch
                self.assignment_configs = stored.configs_from(value)
            case _:
                raise AssertionError(("not of a streams group", record))

    def _hold(self, member_id: str, holding: Holding | None) -> None:
        standing = self.holdings.pop(member_id, None)
        if standing is not None:
            for held in (standing.assigned, standing.pending_revocation):
                for task in held.actives():
                    if self.owners.get(task) == member_id:
                        del self.owners[task]
                for task in held.copies():
                    left = self.keepers.get(task, frozenset()) - {member_id}
                    if left:
                        self.keepers[task] = left
                    else:
                        self.keepers.pop(task, None)
        if holding is not None:
            self.holdings[member_id] = holding
            for held in (holding.assigned, holding.pending_revocation):
                for task in held.actives():
                    self.owners[task] = member_id
                for task in held.copies():
                    self.keepers[task] = self.keepers.get(task, frozenset()) | {member_id}


@dataclass(frozen=True, slots=True)
class StreamsRefreshWanted:
    """Note: look at the topics again at the next heartbeat, or (False) done that."""

    group_id: str
    is_wanted: bool


@dataclass(frozen=True, slots=True)
class TopologyConfigured:
    """Note: the topology was held against the topics."""

    group_id: str
    configured: Configured


@dataclass(frozen=True, slots=True)
class AssignmentDelayed:
    """Note: the first assignment waits for more members, or (False) not any more."""

    group_id: str
    is_delayed: bool


@dataclass(frozen=True, slots=True)
class EndpointsMoved:
    """Note: other partitions are at some member's endpoint now."""

    group_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class ShutDownAsked:
    """Note: a member wants the application to end, everywhere. The first one's name is told."""

    group_id: str
    member_id: str


STREAMS_NOTES: Final = (
    StreamsRefreshWanted,
    TopologyConfigured,
    AssignmentDelayed,
    EndpointsMoved,
    ShutDownAsked,
)
StreamsNote = (
    StreamsRefreshWanted | TopologyConfigured | AssignmentDelayed | EndpointsMoved | ShutDownAsked
)


class StreamsDraft(Draft[StreamsGroup, StreamsNote]):
    """A streams group as it is becoming while a step is decided."""
