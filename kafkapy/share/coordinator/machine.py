"""The share coordinator of one shard: the state of share partitions, and who may write it.

    initialize   by the group coordinator; a newer state epoch fences who knew the older one.
                 One that says no offset takes nobody back who has begun: it may be asked late,
                 or again because an alteration of offsets failed on its way
    read         by the partition's leader, under its epoch; a newer one fences the older leader
    write        by that leader; updates, and after so many of them a snapshot
    delete, summary   by the group coordinator

Snapshots make what lies before them redundant. The topic is not compacted: whoever prunes it
sets a mark, has everything snapshotted that has no snapshot behind it, and then cuts the log at
where the mark was set (broker/share/pruning.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, assert_never
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Loaded, Step, TimerFired
from kafkapy.core.time import Instant
from kafkapy.share.coordinator import state as states
from kafkapy.share.coordinator.batches import combined
from kafkapy.share.coordinator.events import (
    NOTHING_READ,
    DeleteState,
    Done,
    InitializeState,
    ReadState,
    ReadSummary,
    SetMark,
    ShareEvent,
    ShareReply,
    Snapshotted,
    SnapshotTheRest,
    StateRead,
    SummaryRead,
    TopicsDeleted,
    WriteState,
)
from kafkapy.share.coordinator.records import (
    ShareSnapshotKey,
    ShareUpdateKey,
    ShareUpdateValue,
)
from kafkapy.share.coordinator.state import Record, ShareKey, ShareState

ShareStep = Step[Any, ShareReply]

# Of state batches in one batch of snapshots: 400 KB of a megabyte, if there is more than one.
MOST_BATCHES: Final = 20_000


class Partitions(Protocol):
    """What is known of the cluster's topics."""

    def exists(self, topic_id: UUID, partition: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class MarkSet:
    """Note: snapshots count anew."""


class ShareMachine:
    def __init__(
        self,
        partitions: Callable[[], Partitions],
        updates_per_snapshot: Callable[[], int],
    ) -> None:
        self._states: dict[ShareKey, ShareState] = {}
        # Behind the mark.
        self._snapshotted: set[ShareKey] = set()
        self._partitions = partitions
        self._updates_per_snapshot = updates_per_snapshot

    @property
    def states(self) -> Mapping[ShareKey, ShareState]:
        return self._states

    def decide(
        self, event: ShareEvent | Loaded | TimerFired, now: Instant, wall: Instant
    ) -> ShareStep:
        match event:
            case WriteState():
                return self._write(event, wall)
            case ReadState():
                return self._read(event)
            case InitializeState():
                return self._initialize(event, wall)
            case ReadSummary():
                return self._summary(event)
            case DeleteState():
                return self._delete(event)
            case TopicsDeleted():
                return self._topics_deleted(event)
            case SetMark():
                return Step(notes=(MarkSet(),), reply=Done())
            case SnapshotTheRest():
                return self._snapshot_the_rest(event, wall)
            case Loaded() | TimerFired():
                return Step()
            case _:
                assert_never(event)

    def apply(self, record: Any) -> None:
        match record:
            case (ShareSnapshotKey() as key, None):
                self._states.pop(_key(key), None)
                self._snapshotted.discard(_key(key))
            case (ShareSnapshotKey() as key, value):
                self._states[_key(key)] = states.from_snapshot(value)
                self._snapshotted.add(_key(key))
            case (ShareUpdateKey() as key, value):
                standing = self._states.get(_key(key))
                if standing is not None and value is not None:
                    self._states[_key(key)] = states.updated(standing, value)
            case MarkSet():
                self._snapshotted.clear()
            case _:
                raise AssertionError(("unknown record", record))

    # Leaders of partitions

    def _read(self, event: ReadState) -> ShareStep:
        key, standing = event.key, self._known(event.key)
        if standing.leader_epoch > event.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        reply = StateRead(standing.state_epoch, standing.start_offset, standing.batches)
        if event.leader_epoch == standing.leader_epoch:
            return Step(reply=reply)
        fencing = states.update_record(
            key,
            standing,
            event.leader_epoch,
            standing.start_offset,
            standing.delivery_complete_count,
            (),
        )
        return Step(records=(fencing,), reply=reply)

    def _write(self, event: WriteState, wall: Instant) -> ShareStep:
        key, standing = event.key, self._known(event.key)
        if standing.leader_epoch > event.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        # Ahead is who knows the state of a group that was deleted since, and made anew.
        if standing.state_epoch != event.state_epoch:
            raise Refused(ErrorCode.FENCED_STATE_EPOCH)
        update = states.update_record(
            key,
            standing,
            event.leader_epoch,
            event.start_offset,
            event.delivery_complete_count,
            combined((), event.batches, event.start_offset),
        )
        if standing.update_count < self._updates_per_snapshot():
            return Step(records=(update,), reply=Done())
        _, value = update
        assert isinstance(value, ShareUpdateValue), value
        after = states.updated(standing, value)
        snapshot = replace(
            after,
            snapshot_epoch=standing.snapshot_epoch + 1,
            create_timestamp=wall,
            write_timestamp=wall,
        )
        return Step(records=(states.snapshot_record(key, snapshot),), reply=Done())

    # The group coordinator

    def _initialize(self, event: InitializeState, wall: Instant) -> ShareStep:
        key = event.key
        self._check_exists(key)
        standing = self._states.get(key)
        if standing is not None:
            if standing.state_epoch > event.state_epoch:
                raise Refused(ErrorCode.FENCED_STATE_EPOCH)
            if (standing.state_epoch, standing.start_offset) == event[1:]:
                return Step(reply=Done())  # asked again
            if event.start_offset == NOTHING_READ != standing.start_offset:
                return self._go_on(key, standing, event.state_epoch, wall)
        begun = ShareState(
            snapshot_epoch=0 if standing is None else standing.snapshot_epoch + 1,
            state_epoch=event.state_epoch,
            leader_epoch=0,
            start_offset=event.start_offset,
            delivery_complete_count=0 if event.start_offset != NOTHING_READ else -1,
            create_timestamp=wall,
            write_timestamp=wall,
            batches=(),
        )
        return Step(records=(states.snapshot_record(key, begun),), reply=Done())

    def _go_on(self, key: ShareKey, standing: ShareState, epoch: int, wall: Instant) -> ShareStep:
        """Where it is, under the newer epoch."""
        if standing.state_epoch == epoch:
            return Step(reply=Done())
        renewed = replace(
            standing,
            snapshot_epoch=standing.snapshot_epoch + 1,
            state_epoch=epoch,
            write_timestamp=wall,
        )
        return Step(records=(states.snapshot_record(key, renewed),), reply=Done())

    def _summary(self, event: ReadSummary) -> ShareStep:
        self._check_exists(event.key)
        standing = self._states.get(event.key)
        if standing is None:
            return Step(reply=SummaryRead(0, 0, NOTHING_READ, -1))
        return Step(
            reply=SummaryRead(
                standing.state_epoch,
                standing.leader_epoch,
                standing.start_offset,
                standing.delivery_complete_count,
            )
        )

    def _delete(self, event: DeleteState) -> ShareStep:
        self._check_exists(event.key)
        if event.key not in self._states:
            return Step(reply=Done())
        return Step(records=(states.tombstone(event.key),), reply=Done())

    # The topic, and its topics

    def _topics_deleted(self, event: TopicsDeleted) -> ShareStep:
        gone = [key for key in self._states if key.topic_id in event.topic_ids]
        return Step(records=tuple(states.tombstone(key) for key in gone), reply=Done())

    def _snapshot_the_rest(self, event: SnapshotTheRest, wall: Instant) -> ShareStep:
        """Of a topic that went while nobody led here, nobody said so: its states go now."""
        stale = [key for key in self._states if key not in self._snapshotted]
        records: list[Record] = []
        size = 0
        for key in stale[: event.most]:
            if not self._partitions().exists(key.topic_id, key.partition):
                records.append(states.tombstone(key))
                continue
            standing = self._states[key]
            size += len(standing.batches)
            if records and size > MOST_BATCHES:
                break
            snapshot = replace(
                standing, snapshot_epoch=standing.snapshot_epoch + 1, write_timestamp=wall
            )
            records.append(states.snapshot_record(key, snapshot))
        return Step(records=tuple(records), reply=Snapshotted(len(stale) > len(records)))

    def _known(self, key: ShareKey) -> ShareState:
        self._check_exists(key)
        standing = self._states.get(key)
        if standing is None:
            raise Refused(
                ErrorCode.INVALID_REQUEST, "The share partition has not been initialized."
            )
        return standing

    def _check_exists(self, key: ShareKey) -> None:
        if not self._partitions().exists(key.topic_id, key.partition):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _key(key: ShareSnapshotKey | ShareUpdateKey) -> ShareKey:
    assert key.topic_id is not None, key
    return ShareKey(key.group_id, key.topic_id, key.partition)
