"""The partition `__cluster_metadata-0`: records and control records in a PartitionLog.

    [snapshot (end, epoch)]  log start ... batches of records ... log end
                             LEADER_CHANGE first in every epoch

It is opened as after a crash every time, so that all of it is checked, as Kafka does. Its
beginning is only ever cut off behind a snapshot. What was said of voters, committed or
not, is gathered from it in slices (`scan`) before the quorum begins.
formats/metadata 1 and 4.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Disk, Flushed, Rng
from kafkapy.core.time import Instant
from kafkapy.kraft.log.snapshot_file import MAX_BATCH_BYTES, SnapshotId
from kafkapy.kraft.log.snapshots import Snapshots
from kafkapy.kraft.records.codec import decode_record, encode_record, version_to_write
from kafkapy.kraft.records.control import ControlRecord, build_control_batch, control_records
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.kraft.storage.adoption import METADATA_DIRECTORY
from kafkapy.kraft.uuids import METADATA_TOPIC_ID
from kafkapy.log.append import Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import (
    BatchHeader,
    NewRecord,
    batches,
    build_batch,
    crc_is_valid,
    records,
)

METADATA_PARTITION: Final = TopicPartition("__cluster_metadata", 0)
DEFAULT_SEGMENT_BYTES: Final = 1024 * 1024 * 1024

_READ_BYTES: Final = 1024 * 1024


class Batch(NamedTuple):
    header: BatchHeader
    data: bytes

    def control_records(self) -> list[tuple[int, ControlRecord]]:
        return control_records(self.data)

    def records(self) -> Iterator[MetadataRecord]:
        """Decoded as they are asked for. Raises Corrupt."""
        for record in records(self.data):
            if record.value is None:
                raise Corrupt(f"metadata record {record.offset} has no value")
            yield decode_record(record.value)


class MetadataLog:
    def __init__(self, log: PartitionLog, snapshots: Snapshots) -> None:
        self.partition = log
        self.snapshots = snapshots

    @classmethod
    def open(
        cls,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        metadata_path: str,
        *,
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
    ) -> "MetadataLog":
        directory = f"{metadata_path}/{METADATA_DIRECTORY}"
        config = LogConfig(
            max_message_bytes=MAX_BATCH_BYTES,
            segment_bytes=segment_bytes,
            retention_ms=-1,
            retention_bytes=-1,
        )
        if not disk.exists(directory):
            disk.make_directory(directory)
            # A vote in it must not vanish with it.
            disk.flush_directory(metadata_path)
        partition = PartitionLog.open(
            disk,
            clock,
            rng,
            directory,
            METADATA_PARTITION,
            config,
            is_clean=False,
            topic_id=METADATA_TOPIC_ID,
        )
        snapshots = Snapshots(disk, directory, rng)
        snapshots.recover(partition.log_start_offset)
        log = cls(partition, snapshots)
        log.truncate_to_latest_snapshot()
        return log

    # -- what the quorum reads (LogView) -----------------------------------------------

    @property
    def start_offset(self) -> int:
        return self.partition.log_start_offset

    @property
    def end_offset(self) -> int:
        return self.partition.log_end_offset

    @property
    def flushed_offset(self) -> int:
        return self.partition.flushed_offset

    @property
    def last_epoch(self) -> int:
        latest = self.partition.latest_epoch
        if latest >= 0:
            return latest
        snapshot = self.snapshots.latest
        return 0 if snapshot is None else snapshot.epoch

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        return self.snapshots.earliest

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return self.snapshots.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        found, end_offset = self.partition.end_offset_for_epoch(epoch)
        if found < 0:
            return self.last_epoch, self.end_offset
        earliest = self.snapshots.earliest
        if earliest is not None and found == epoch and end_offset == earliest.end_offset:
            # Older than anything in the log: the snapshot at its start knows the epoch.
            return earliest.epoch, end_offset
        return found, end_offset

    # -- writing -----------------------------------------------------------------------

    def append(
        self, appended: Sequence[MetadataRecord], *, epoch: int, metadata_version: int, now: Instant
    ) -> int:
        """One batch, all or nothing; the size of it."""
        batch = build_batch(
            [
                NewRecord(
                    value=encode_record(record, version_to_write(record, metadata_version)),
                    timestamp=now,
                )
                for record in appended
            ],
            base_offset=self.end_offset,
            leader_epoch=epoch,
        )
        self._append(batch, epoch)
        return len(batch)

    def append_control(self, control: Sequence[ControlRecord], *, epoch: int, now: Instant) -> int:
        batch = build_control_batch(
            control, base_offset=self.end_offset, leader_epoch=epoch, now=now
        )
        self._append(batch, epoch)
        return len(batch)

    def append_fetched(self, data: bytes, *, epoch: int) -> list[Batch]:
        """What the leader of `epoch` sent, as far as it is good; what became of it."""
        first = self.end_offset
        self.partition.append_as_follower(memoryview(data)[: _good_size(data, epoch, first)])
        return list(self.batches(first, self.end_offset))

    def flush(self, then: Flushed) -> None:
        self.partition.flush(then)

    def truncate_to(self, end_offset: int) -> None:
        self.partition.truncate_to(end_offset)

    def truncate_to_latest_snapshot(self) -> bool:
        """A snapshot beyond the log (copied from a leader) replaces all of it."""
        latest = self.snapshots.latest
        if latest is None or not self.is_before(latest):
            return False
        self.begin_behind(latest)
        return True

    def is_before(self, snapshot: SnapshotId) -> bool:
        """It has what this log has not. Then whatever else is in the log is committed nowhere:
        not what is of newer epochs, but at older offsets, either."""
        log_epoch = max(self.partition.latest_epoch, 0)
        return snapshot.end_offset > self.end_offset or (
            snapshot.end_offset > self.start_offset and snapshot.epoch > log_epoch
        )

    def begin_behind(self, snapshot: SnapshotId) -> None:
        """Such a one, which is there by now, takes the place of everything."""
        self.partition.truncate_fully_and_start_at(snapshot.end_offset)
        self.snapshots.remove([one for one in self.snapshots.ids if one < snapshot])

    def clean(self, now: Instant, *, max_bytes: int, max_age_ms: int) -> int:
        """Remove old snapshots, and the log before the oldest that stays; how many."""
        oldest = now - max_age_ms if max_age_ms >= 0 else -1
        removable = self.snapshots.removable(
            log_size=self.partition.size, max_bytes=max_bytes, oldest_timestamp=oldest
        )
        if removable:
            stays = self.snapshots.ids[len(removable)]
            self.partition.advance_log_start_offset(stays.end_offset)
            self.partition.apply_retention(now)
            self.snapshots.remove(removable)
        return len(removable)

    # -- reading -----------------------------------------------------------------------

    def read(self, offset: int, upper: int, max_bytes: int = _READ_BYTES) -> bytes:
        """Whole batches from `offset` on, below `upper`; the last one may be cut off."""
        read = self.partition.read(offset, max_bytes, upper=upper)
        parts = []
        for part in read.slices:
            parts.append(part.read())
            part.release()
        return b"".join(parts)

    def batches(self, offset: int, upper: int) -> Iterator[Batch]:
        """Every batch in [offset, upper), read a chunk at a time."""
        while offset < upper:
            chunk = self.read(offset, upper)
            before = offset
            for position, header in batches(chunk):
                if header.base_offset >= upper:
                    return
                if header.next_offset > offset:
                    yield Batch(header, chunk[position : position + header.size])
                    offset = header.next_offset
            assert offset > before, f"nothing at {offset} of {self.partition}"

    def control_batches(self, offset: int) -> Iterator[list[tuple[int, ControlRecord]]]:
        """The control records from `offset` on, uncommitted ones included. Yields once per
        batch, with an empty list for data, so that a scan can be sliced."""
        for batch in self.batches(offset, self.end_offset):
            yield batch.control_records() if batch.header.is_control else []

    def _append(self, batch: bytes, epoch: int) -> None:
        self.partition.append_as_leader(memoryview(batch), leader_epoch=epoch, origin=Origin.RAFT)


def _good_size(data: bytes, epoch: int, offset: int) -> int:
    """How much of `data` is whole, undamaged batches up to `epoch`, without a gap from
    `offset` on (a metadata log is never compacted); the rest is asked for again."""
    good = 0
    try:
        for position, header in batches(data):
            is_next = header.base_offset <= offset <= header.next_offset
            if header.leader_epoch > epoch or not is_next:
                break
            if not crc_is_valid(data, position, header):
                break
            good = position + header.size
            offset = header.next_offset
    except Corrupt:
        pass  # not even a header
    return good
