"""What the coordinator knows of one share partition: the fold of its records."""

from base64 import b64encode
from typing import NamedTuple
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.share.coordinator.batches import combined
from kafkapy.share.coordinator.records import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
    WrittenBatch,
)
from kafkapy.share.states import StateBatch, state_of

Record = tuple[ShareSnapshotKey | ShareUpdateKey, ShareSnapshotValue | ShareUpdateValue | None]


class ShareKey(NamedTuple):
    group_id: str
    topic_id: UUID
    partition: int

    @property
    def coordinated_by(self) -> str:
        """The text that says which partition of the topic it is kept in."""
        topic_id = b64encode(self.topic_id.bytes, b"-_").decode().rstrip("=")
        return f"{self.group_id}:{topic_id}:{self.partition}"


@dataclass(frozen=True, slots=True)
class ShareState:
    """`start_offset` -1: initialized, and nobody has had anything yet. `update_count`: how many
    updates follow on the snapshot."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    create_timestamp: int
    write_timestamp: int
    batches: tuple[StateBatch, ...]
    update_count: int = 0


def snapshot_record(key: ShareKey, state: ShareState) -> Record:
    return ShareSnapshotKey(**key._asdict()), ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.create_timestamp,
        write_timestamp=state.write_timestamp,
        state_batches=_written(state.batches),
    )


def update_record(
    key: ShareKey,
    state: ShareState,
    leader_epoch: int,
    start_offset: int,
    delivery_complete_count: int,
    batches: tuple[StateBatch, ...],
) -> Record:
    return ShareUpdateKey(**key._asdict()), ShareUpdateValue(
        snapshot_epoch=state.snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=delivery_complete_count,
        state_batches=_written(batches),
    )


def tombstone(key: ShareKey) -> Record:
    return ShareSnapshotKey(**key._asdict()), None


def from_snapshot(value: ShareSnapshotValue) -> ShareState:
    return ShareState(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        value.create_timestamp,
        value.write_timestamp,
        combined((), _read(value.state_batches), value.start_offset),
    )


def updated(state: ShareState, value: ShareUpdateValue) -> ShareState:
    """The start never goes back; the count of what is over belongs to the start it came with."""
    start, count = state.start_offset, state.delivery_complete_count
    if value.start_offset > start:
        start, count = value.start_offset, value.delivery_complete_count
    elif value.start_offset == start:
        count = max(count, value.delivery_complete_count)
    return ShareState(
        state.snapshot_epoch,
        state.state_epoch,
        max(state.leader_epoch, value.leader_epoch),
        start,
        count,
        state.create_timestamp,
        state.write_timestamp,
        combined(state.batches, _read(value.state_batches), start),
        state.update_count + 1,
    )


def _written(batches: tuple[StateBatch, ...]) -> tuple[WrittenBatch, ...]:
    return tuple(
        WrittenBatch(
            first_offset=one.first_offset,
            last_offset=one.last_offset,
            delivery_state=one.state,
            delivery_count=one.delivery_count,
        )
        for one in batches
    )


def _read(batches: tuple[WrittenBatch, ...]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(
            one.first_offset,
            one.last_offset,
            state_of(one.delivery_state),
            one.delivery_count,
        )
        for one in batches
    )
