"""A member of a streams group: who it is, and which tasks it runs.

    Profile   what it said of itself (record type 19)
    Holding   its epoch and tasks (record type 22)

              STABLE --new target--> UNREVOKED --gave them up--> UNRELEASED --free--> STABLE
                it runs its target     it must give up some        it waits for others

A task is a part of the topology and a partition of its input. Who has it active processes it;
standbys and warm-ups keep a copy of its state. Active tasks carry the epoch at which each was
assigned, so that late commits of an older epoch can be judged (KIP-1251). All is values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import IntEnum
from typing import Final

from kafkapy.core.data import dataclass

# The id of a subtopology, and a partition.
Task = tuple[str, int]
Tasks = Mapping[str, frozenset[int]]
Owned = Mapping[str, Mapping[int, int]]


class MemberState(IntEnum):
    """As they are stored: not the numbers of a consumer's states."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    UNRELEASED_TASKS = 3
    # Of a newer version: the member must start over.
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class Target:
    """Tasks of each kind; also what a member says that it has."""

    active: Tasks = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    warmup: Tasks = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)


NOTHING: Final = Target()


@dataclass(frozen=True, slots=True)
class Profile:
    """`process_id`: members with the same one share memory and disk, so a task's state is kept
    there once. `user_endpoint`: where the application answers questions about its state."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: tuple[str, int] | None = None
    client_tags: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """Tasks in a member's hands."""

    active: Owned = field(default_factory=dict)
    standby: Tasks = field(default_factory=dict)
    warmup: Tasks = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def copies(self) -> Iterator[Task]:
        """Standbys and warm-ups."""
        for tasks in (self.standby, self.warmup):
            for subtopology, partitions in tasks.items():
                for partition in partitions:
                    yield subtopology, partition

    def actives(self) -> Iterator[Task]:
        for subtopology, partitions in self.active.items():
            for partition in partitions:
                yield subtopology, partition


NO_HOLD: Final = Held()


@dataclass(frozen=True, slots=True)
class Holding:
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Held = NO_HOLD
    pending_revocation: Held = NO_HOLD

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def assignment_epoch(self, task: Task) -> int | None:
        """The epoch at which it got the active task; None if it does not have it."""
        subtopology, partition = task
        for held in (self.assigned, self.pending_revocation):
            epoch = held.active.get(subtopology, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


NEW_HOLDING: Final = Holding()


def tasks_of(owned: Owned) -> Tasks:
    return {subtopology: frozenset(partitions) for subtopology, partitions in owned.items()}


def overlap(some: Mapping[str, object], others: Tasks) -> bool:
    """Whether any task is in both; of `some` the partitions may be a set or a mapping."""
    return any(
        partition in partitions  # type: ignore[operator]
        for subtopology, partitions in some.items()
        for partition in others.get(subtopology, ())
    )
