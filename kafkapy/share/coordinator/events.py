"""What the share coordinator is asked, and its answers; Refused instead where it is not so."""

from typing import NamedTuple

from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.states import StateBatch

NOTHING_READ = -1
UNKNOWN_COUNT = -1


class InitializeState(NamedTuple):
    """From here on the state is of that epoch, begins at `start_offset` and has no records."""

    key: ShareKey
    state_epoch: int
    start_offset: int


class ReadState(NamedTuple):
    """By who leads the partition in that epoch: who led it before is fenced."""

    key: ShareKey
    leader_epoch: int


class WriteState(NamedTuple):
    key: ShareKey
    state_epoch: int
    leader_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]
    delivery_complete_count: int = UNKNOWN_COUNT


class DeleteState(NamedTuple):
    key: ShareKey


class ReadSummary(NamedTuple):
    key: ShareKey
    leader_epoch: int


class TopicsDeleted(NamedTuple):
    topic_ids: frozenset[object]


class SetMark(NamedTuple):
    """From now on it counts which snapshots are written."""


class SnapshotTheRest(NamedTuple):
    """Write snapshots of so many that have none behind the mark."""

    most: int


class Done(NamedTuple):
    pass


class StateRead(NamedTuple):
    state_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]


class SummaryRead(NamedTuple):
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


class Snapshotted(NamedTuple):
    has_more: bool


KeyedEvent = InitializeState | ReadState | WriteState | DeleteState | ReadSummary
ShareEvent = KeyedEvent | TopicsDeleted | SetMark | SnapshotTheRest
ShareReply = Done | StateRead | SummaryRead | Snapshotted
