"""A share group: the fold of its records, with what follows from them at hand.

Epochs are those of a consumer group (consumer/group.py); a member goes from one target to the
next in one step. `apply` is the only writer, of the group itself or of the copy a decision
works on. It takes records in any order that compaction may leave behind.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from typing import Any, Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant
from kafkapy.group.draft import Draft
from kafkapy.group.records import Pair
from kafkapy.group.records.share import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)
from kafkapy.group.share import stored
from kafkapy.group.share.member import NEW_HOLDING, NOTHING, Holding, Profile, Target
from kafkapy.group.share.state_partitions import NO_STATE, StatePartitions

NEVER_ASKED: Final = Instant(-(2**62))


class ShareGroupState(Enum):
    EMPTY = "Empty"
    STABLE = "Stable"


@dataclass(slots=True)
class ShareGroup:
    group_id: str
    epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 0
    assignment_timestamp: int = 0
    profiles: dict[str, Profile] = field(default_factory=dict)
    holdings: dict[str, Holding] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    state_partitions: StatePartitions = NO_STATE
    subscribers: Counter[str] = field(default_factory=Counter)
    # Soft: the topics may be other ones, or what has been initialized; and when the share
    # coordinator was last asked to initialize anything, and to delete anything.
    wants_refresh: bool = True
    initialization_asked_at: Instant = NEVER_ASKED
    deletion_asked_at: Instant = NEVER_ASKED

    def copy(self) -> "ShareGroup":
        return ShareGroup(
            self.group_id,
            self.epoch,
            self.metadata_hash,
            self.assignment_epoch,
            self.assignment_timestamp,
            dict(self.profiles),
            dict(self.holdings),
            dict(self.targets),
            self.state_partitions,
            self.subscribers.copy(),
            self.wants_refresh,
            self.initialization_asked_at,
            self.deletion_asked_at,
        )

    @property
    def is_empty(self) -> bool:
        return not self.profiles

    def holding(self, member_id: str) -> Holding:
        return self.holdings.get(member_id, NEW_HOLDING)

    def target(self, member_id: str) -> Target:
        return self.targets.get(member_id, NOTHING)

    def is_subscribed_to_any(self, topics: frozenset[str]) -> bool:
        if len(self.subscribers) < len(topics):
            return any(name in topics for name in self.subscribers)
        return any(name in self.subscribers for name in topics)

    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.profiles else ShareGroupState.EMPTY

    def members(self) -> Iterator[tuple[Profile, Holding]]:
        for member_id, profile in self.profiles.items():
            yield profile, self.holding(member_id)

    def assigned_partitions(self) -> set[tuple[UUID, int]]:
        """By the targets, to whomever."""
        return {
            (topic_id, partition)
            for member_id in self.profiles
            for topic_id, partitions in self.target(member_id).items()
            for partition in partitions
        }

    def tombstones(self) -> list[Pair]:
        members = {*self.profiles, *self.holdings, *self.targets}
        return stored.group_tombstones(self.group_id, sorted(members), True)

    # Writing

    def note(self, note: "ShareNote") -> None:
        match note:
            case ShareRefreshWanted():
                self.wants_refresh = note.is_wanted
            case InitializationAsked():
                self.initialization_asked_at = note.at
            case DeletionAsked():
                self.deletion_asked_at = note.at

    def apply(self, record: Pair) -> None:
        key, value = record
        match key:
            case ShareGroupMemberMetadataKey():
                self._introduce(key.member_id, value)
            case ShareGroupMetadataKey():
                assert value is not None, record  # that is for whoever holds the group
                self.epoch = value.epoch
                self.metadata_hash = value.metadata_hash
            case ShareGroupTargetAssignmentMetadataKey():
                self.assignment_epoch = 0 if value is None else value.assignment_epoch
                self.assignment_timestamp = 0 if value is None else value.assignment_timestamp
            case ShareGroupTargetAssignmentMemberKey():
                if value is None:
                    self.targets.pop(key.member_id, None)
                else:
                    self.targets[key.member_id] = stored.target_from(value.topic_partitions)
            case ShareGroupCurrentMemberAssignmentKey():
                if value is None:
                    self.holdings.pop(key.member_id, None)
                else:
                    self.holdings[key.member_id] = Holding(
                        value.member_epoch,
                        value.previous_member_epoch,
                        stored.target_from(value.assigned_partitions),
                    )
            case ShareGroupStatePartitionMetadataKey():
                before = self.state_partitions
                self.state_partitions = NO_STATE if value is None else stored.state_from(value)
                if self.state_partitions.initialized != before.initialized:
                    self.wants_refresh = True
            case _:
                raise AssertionError(("not of a share group", record))

    def _introduce(self, member_id: str, value: Any) -> None:
        standing = self.profiles.pop(member_id, None)
        if standing is not None:
            for topic in standing.subscribed_topics:
                self.subscribers[topic] -= 1
                if self.subscribers[topic] <= 0:
                    del self.subscribers[topic]
        if value is not None:
            profile = self.profiles[member_id] = stored.profile_from(member_id, value)
            self.subscribers.update(profile.subscribed_topics)


@dataclass(frozen=True, slots=True)
class ShareRefreshWanted:
    """Note: compare topics and what is initialized at the next heartbeat, or (False) done."""

    group_id: str
    is_wanted: bool


@dataclass(frozen=True, slots=True)
class InitializationAsked:
    """Note: the share coordinator is being asked to initialize what is to be."""

    group_id: str
    at: Instant


@dataclass(frozen=True, slots=True)
class DeletionAsked:
    """Note: the share coordinator is being asked to delete what is to be."""

    group_id: str
    at: Instant


ShareNote = ShareRefreshWanted | InitializationAsked | DeletionAsked


class ShareDraft(Draft[ShareGroup, ShareNote]):
    """A share group as it is becoming while a step is decided."""
