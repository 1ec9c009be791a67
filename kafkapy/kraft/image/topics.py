"""What the image knows of topics: `TopicState` and its partitions.

A `PartitionState` is never changed: a change makes a new one. So states may be held,
compared with later ones, and shared by copies of the image.
formats/metadata 2, formats/controller 2.
"""

from typing import Final, NamedTuple, cast
from uuid import UUID

from kafkapy.core.ids import NO_NODE
from kafkapy.kraft.records.metadata import PartitionChangeRecord, PartitionRecord
from kafkapy.kraft.uuids import MIGRATING

# PartitionChangeRecord.leader: leave the leader (and its epoch) as it is.
NO_LEADER_CHANGE: Final = -2

RECOVERED: Final = 0
RECOVERING: Final = 1
NO_RECOVERY_CHANGE: Final = -1


class PartitionState(NamedTuple):
    """One partition; `directories[i]` is where `replicas[i]` keeps it."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[UUID, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = RECOVERED
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_NODE

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_NODE

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    def directory(self, replica: int) -> UUID | None:
        """Where `replica` keeps this partition; None if it is not a replica."""
        if replica not in self.replicas:
            return None
        return self.directories[self.replicas.index(replica)]

    def to_record(self, topic_id: UUID, partition: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic_id,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing_replicas,
            adding_replicas=self.adding_replicas,
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=self.directories,
            eligible_leader_replicas=self.elr or None,
            last_known_elr=self.last_known_elr or None,
        )


def partition_from(record: PartitionRecord) -> PartitionState:
    return PartitionState(
        record.replicas,
        record.isr,
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        _directories_of(record.directories, record.replicas),
        record.removing_replicas,
        record.adding_replicas,
        record.leader_recovery_state,
        record.eligible_leader_replicas or (),
        record.last_known_elr or (),
    )


def changed(state: PartitionState, record: PartitionChangeRecord) -> PartitionState:
    """`state` after `record`; epochs follow from the change and are never in the record."""
    replicas = state.replicas if record.replicas is None else record.replicas
    directories = state.directories if record.directories is None else record.directories
    leads = record.leader != NO_LEADER_CHANGE
    recovery = record.leader_recovery_state
    return PartitionState(
        replicas=replicas,
        isr=state.isr if record.isr is None else record.isr,
        leader=record.leader if leads else state.leader,
        leader_epoch=state.leader_epoch + leads,
        partition_epoch=state.partition_epoch + 1,
        directories=_directories_of(directories, replicas),
        removing_replicas=_or(record.removing_replicas, state.removing_replicas),
        adding_replicas=_or(record.adding_replicas, state.adding_replicas),
        leader_recovery_state=(
            state.leader_recovery_state if recovery == NO_RECOVERY_CHANGE else recovery
        ),
        elr=_or(record.eligible_leader_replicas, state.elr),
        last_known_elr=_or(record.last_known_elr, state.last_known_elr),
    )


class TopicState:
    """A topic and its partitions by index. The image adds and replaces; others only read.

    Images that were copied share their topics: `owner` is whose it is to change (image.py)."""

    __slots__ = ("id", "name", "owner", "partitions")

    def __init__(self, name: str, topic_id: UUID, owner: object = None) -> None:
        self.name = name
        self.id = topic_id
        self.owner = owner
        self.partitions: dict[int, PartitionState] = {}

    def copy(self, owner: object = None) -> "TopicState":
        twin = TopicState(self.name, self.id, owner)
        twin.partitions = self.partitions.copy()
        return twin

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TopicState)
            and (self.name, self.id) == (other.name, other.id)
            and self.partitions == other.partitions
        )

    def __repr__(self) -> str:
        return f"TopicState({self.name!r}, {self.id}, {len(self.partitions)} partitions)"


def _or(new: tuple[int, ...] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if new is None else new


def _directories_of(
    directories: tuple[UUID | None, ...], replicas: tuple[int, ...]
) -> tuple[UUID, ...]:
    """Records from before directories had ids name none: all replicas are then migrating.
    (A zero UUID, which MIGRATING is, reads as None.)"""
    if directories and None not in directories and len(directories) == len(replicas):
        return cast(tuple[UUID, ...], directories)
    named = tuple(directory or MIGRATING for directory in directories)
    if all(directory == MIGRATING for directory in named):
        return (MIGRATING,) * len(replicas)
    assert len(named) == len(replicas), (directories, replicas)
    return named
