"""A member of a consumer group: who it is, and what it owns.

    Profile   what it said of itself (record type 5)
    Holding   its epoch and partitions (record type 8)

              STABLE --new target--> UNREVOKED --gave them up--> UNRELEASED --free--> STABLE
                it owns its target     it must give up some        it waits for others

Assignments map topic ids to partitions. What is owned carries the epoch at which each
partition was assigned, so that late commits of an older epoch can be judged (KIP-1251).
Everything here is a value: changing it is making another.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.group.records import ClassicMemberMetadata

Target = Mapping[UUID, frozenset[int]]
Owned = Mapping[UUID, Mapping[int, int]]

NOTHING: Final[Target] = {}
OWNS_NOTHING: Final[Owned] = {}


class MemberState(IntEnum):
    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    # Of a newer version: the member must start over.
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class Profile:
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topics: frozenset[str] = frozenset()
    subscribed_regex: str | None = None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    # Of a member that speaks the classic protocol to this group, else None.
    classic: ClassicMemberMetadata | None = None

    @property
    def is_classic(self) -> bool:
        return self.classic is not None


@dataclass(frozen=True, slots=True)
class Holding:
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Owned = field(default_factory=dict)
    pending_revocation: Owned = field(default_factory=dict)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def assignment_epoch(self, topic_id: UUID, partition: int) -> int | None:
        """The epoch at which it got the partition; None if it does not own it."""
        for owned in (self.assigned, self.pending_revocation):
            epoch = owned.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


NEW_HOLDING: Final = Holding()


def partitions_of(owned: Owned) -> dict[UUID, frozenset[int]]:
    return {topic_id: frozenset(partitions) for topic_id, partitions in owned.items()}
