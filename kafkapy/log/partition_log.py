"""One partition's log on one disk.

    log start     recovery point     last stable      high watermark        log end
        |───────────────|─────────────────|─────────────────|──────────────────|
        readable    durable up to      read_committed   read_uncommitted    next append
                    here for certain   reads below      reads below         goes here

    log start <= high watermark <= log end;  recovery point <= log end

Appends go to the active segment with one write; a failed one leaves everything as it was
before. Offsets are stamped by the leader (`append_as_leader`) or come with the batches
(`append_as_follower`). Nothing here knows leaders, replicas or clients: whoever owns the
log moves the high watermark, and parks acknowledgements until `flushed_offset` or the
high watermark has come by.

What a clean start leaves unread (indexes, epochs, producers) is read when first needed:
ten thousand idle partitions cost a few hundred bytes each.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final
from uuid import UUID

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Bytes, Clock, Disk, Rng
from kafkapy.core.time import Instant
from kafkapy.log import reading
from kafkapy.log.append import AppendInfo, Origin
from kafkapy.log.config import FOREVER_MS, LogConfig
from kafkapy.log.directories.partition_metadata import read_topic_id
from kafkapy.log.local_log import LocalLog
from kafkapy.log.plain_batch import STAMP_SIZE, read_plain_batch, stamp_of
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import DEFAULT_EXPIRY_MS, BatchMetadata
from kafkapy.log.reading import FoundTimestamp, LogRead
from kafkapy.log.recovery import Opening, Recovered, load
from kafkapy.log.retention import Retention
from kafkapy.log.segments.rolling import room_in, should_roll
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.transaction_index import AbortedTransaction, collect_aborted
from kafkapy.log.validation import validate
from kafkapy.protocol.batch import BatchHeader, batches, crc_is_valid
from kafkapy.protocol.control_records import read_marker

__all__ = ["LogRead", "PartitionLog", "Recovered"]

NO_TIMESTAMP: Final = -1
_aborted: Final = attrgetter("aborted")


class PartitionLog(LocalLog):
    """See the module, and LocalLog for rolling, flushing and closing."""

    __slots__ = ()

    @classmethod
    def open(
        cls,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        *,
        is_clean: bool,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        high_watermark: int = 0,
        topic_id: UUID | None = None,
        producer_expiry_ms: int = DEFAULT_EXPIRY_MS,
    ) -> "PartitionLog":
        """Open or create the log in `directory`. Refused(INCONSISTENT_TOPIC_ID) if it holds
        another topic's data under the same name."""
        opening = Opening(
            disk=disk,
            directory=directory,
            topic_partition=topic_partition,
            config=config,
            now=clock.wall(),
            is_clean=is_clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            producer_expiry_ms=producer_expiry_ms,
        )
        known_id = None
        if disk.is_directory(directory):
            known_id = read_topic_id(disk, directory)
        else:
            disk.make_directory(directory)
        if topic_id is not None and known_id not in (None, topic_id):
            raise Refused(
                ErrorCode.INCONSISTENT_TOPIC_ID,
                f"{directory} belongs to topic id {known_id}, not {topic_id}",
            )
        log = cls(disk, clock, rng, opening, load(opening), known_id, high_watermark)
        if topic_id is not None:
            log.adopt_topic_id(topic_id)
        return log

    def __repr__(self) -> str:
        return f"PartitionLog({self.directory}, {self.log_start_offset}..{self.log_end_offset})"

    # -- looking

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def last_stable_offset(self) -> int:
        return self.producers.last_stable_offset(self.high_watermark, self.log_start_offset)

    @property
    def latest_epoch(self) -> int:
        """-1 if no epoch is known."""
        return self.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset); (-1, -1) if undefined. formats/replication 2."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    # -- appending

    def append_as_leader(
        self,
        records: memoryview,
        *,
        leader_epoch: int,
        origin: Origin = Origin.CLIENT,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
    ) -> AppendInfo:
        """Check, stamp and append; Refused or DiskFailed: nothing was appended.

        A retry of a batch that is here already answers that batch and appends nothing.
        `guard` is of `producers.begin_verification`; `transaction_version` says by which
        rules a marker's epoch is judged.
        """
        config = self.config
        now = self._clock.wall()
        valid = validate(
            records,
            config,
            origin=origin,
            now=now,
            base_offset=self.log_end_offset,
            leader_epoch=leader_epoch,
        )
        if valid.size > config.segment_bytes:
            raise Refused(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{valid.size} bytes of records where segment.bytes is {config.segment_bytes}",
            )
        for index, header in enumerate(valid.headers):
            if header.producer_id >= 0:
                batch = valid.parts[2 * index : 2 * index + 2]
                duplicate = self._check_producer(header, batch, origin, transaction_version, guard)
                if duplicate is not None:
                    return AppendInfo(
                        duplicate.first_offset,
                        duplicate.last_offset,
                        duplicate.timestamp,
                        self.log_start_offset,
                        True,
                    )
        self._append(valid.parts, valid.headers, valid.size, now)
        return AppendInfo(
            valid.headers[0].base_offset,
            self.log_end_offset - 1,
            valid.log_append_time_ms,
            self.log_start_offset,
        )

    def append_plain(
        self,
        batch: memoryview,
        leader_epoch: int,
        now: Instant,
        *,
        may_be_transactional: bool = False,
    ) -> int | None:
        """`append_as_leader` for a plain batch in the middle of things, and the offset it got;
        None where there is anything to decide. Only while `config.takes_plain_batches`."""
        config = self.config
        epochs, producers = self._epochs, self._producers
        if epochs is None or producers is None or epochs.latest != leader_epoch:
            return None
        base_offset = self.log_end_offset
        header = read_plain_batch(
            batch, config, now, base_offset, leader_epoch, may_be_transactional
        )
        if header is None:
            return None
        segment = self.segments.active
        position = segment.size
        next_offset = header.next_offset
        room = self._room
        if (
            room.segment is not segment
            or room.config is not config
            or position + len(batch) > room.size
            or next_offset > room.last_offset
            or header.max_timestamp > room.timestamp
        ):
            if not position or should_roll(segment, config, (header,), len(batch), now):
                return None
            self._room = room_in(segment, config)
        if header.producer_id >= 0:
            if header.is_transactional and not producers.is_amid(header):
                return None
            if producers.check(header, Origin.CLIENT) is not None:
                return None
        segment.append_one(
            (stamp_of(header), batch[STAMP_SIZE:]), header, config.index_interval_bytes
        )
        self._positions.remember(base_offset, position)
        self.log_end_offset = next_offset
        producers.update(header, b"")
        if config.flush_ms != FOREVER_MS:
            self._flush_within(config.flush_ms)
        return base_offset

    def append_as_follower(self, records: memoryview) -> AppendInfo:
        """Append what the leader sent, as it is. A last batch that is cut off is ignored,
        and so is what is here already. Corrupt: the leader must be asked again."""
        self._begin_at_whole_batch(records)
        first_offset = expected = self.log_end_offset
        headers: list[BatchHeader] = []
        start = end = 0
        for position, header in batches(records):
            if not crc_is_valid(records, position, header):
                raise Corrupt(f"{self.topic_partition}: bad CRC in the batch {header}")
            if header.last_offset < expected and not headers:
                start = end = position + header.size
                continue
            if header.base_offset < expected or header.last_offset_delta < 0:
                raise Corrupt(f"{self.topic_partition}: expected {expected}, got {header}")
            headers.append(header)
            expected = header.next_offset
            end = position + header.size
        if headers:
            first_offset = headers[0].base_offset
            self._append([records[start:end]], headers, end - start, self._clock.wall())
        return AppendInfo(
            first_offset, self.log_end_offset - 1, NO_TIMESTAMP, self.log_start_offset
        )

    def _begin_at_whole_batch(self, records: memoryview) -> None:
        """The leader's log start may be in the middle of a batch (DeleteRecords); a follower
        that begins there gets all of that batch, and its first segment begins with it."""
        start = self.log_start_offset
        if self.log_end_offset != start:
            return
        _, first = next(batches(records), (0, None))
        if first is None or not first.base_offset < start <= first.last_offset:
            return
        if crc_is_valid(records, 0, first):
            self.truncate_fully_and_start_at(first.base_offset)
            self._append([records[: first.size]], [first], first.size, self._clock.wall())
            self.advance_high_watermark(start)
            self.advance_log_start_offset(start)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader's epoch begins, even before it has written anything. It is durable
        with the first flush after that: nobody misses an epoch in which nothing was written,
        and a node that starts begins one in each of its logs."""
        if self._epochs is None:
            self._begun_epochs = (*self._begun_epochs, (epoch, start_offset))
        else:
            self._epochs.assign(epoch, start_offset)

    def _check_producer(
        self,
        header: BatchHeader,
        batch: Sequence[Bytes],
        origin: Origin,
        transaction_version: int,
        guard: VerificationGuard | None,
    ) -> BatchMetadata | None:
        marker = read_marker(b"".join(batch)) if header.is_control else None
        return self.producers.check(
            header, origin, marker=marker, transaction_version=transaction_version, guard=guard
        )

    def _append(
        self, parts: Sequence[Bytes], headers: Sequence[BatchHeader], size: int, now: Instant
    ) -> None:
        assert not self.is_closed, self
        producers = self.producers
        segment = self.segments.active
        if should_roll(segment, self.config, headers, size, now):
            segment = self._roll(headers[0].base_offset, now)
        position = segment.size
        segment.append(parts, headers, self.config.index_interval_bytes)
        self._positions.remember(headers[0].base_offset, position)
        self.log_end_offset = headers[-1].next_offset
        epochs = self._epochs or self.epochs
        for header in headers:
            if header.leader_epoch > epochs.latest:
                self.assign_epoch(header.leader_epoch, header.base_offset)
            batch: Bytes = b""
            if header.is_control and header.producer_id >= 0:
                batch = segment.file.read(position, header.size)
            completed = producers.update(header, batch)
            if completed is not None and completed.is_aborted:
                segment.add_aborted(
                    AbortedTransaction(
                        completed.producer_id,
                        completed.first_offset,
                        completed.last_offset,
                        completed.last_stable_offset,
                    )
                )
            position += header.size
        if self.config.flush_ms != FOREVER_MS:
            self._flush_within(self.config.flush_ms)

    # -- the high watermark and the log start

    def advance_high_watermark(self, offset: int) -> None:
        """Never backwards, never above the log end."""
        offset = min(offset, self.log_end_offset)
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self._producers is not None:
                self._producers.high_watermark_advanced(offset)

    def advance_log_start_offset(self, offset: int) -> bool:
        """Nothing below is readable any more; retention removes what it can. Refused above
        the high watermark. False: it was there already."""
        if offset > self.high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"log start {offset} above the high watermark {self.high_watermark} of "
                f"{self.topic_partition}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.epochs.save(self._report)
        self.producers.log_start_offset_advanced(offset)
        return True

    # -- reading

    def read(
        self, offset: int, max_bytes: int, *, upper: int, min_one_batch: bool = True
    ) -> LogRead:
        """Batches from the one that holds `offset`, below `upper`, up to `max_bytes`: the
        last may be cut off, the first is whole. Refused(OFFSET_OUT_OF_RANGE) outside the log.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{offset} is not in [{self.log_start_offset}, {self.log_end_offset}] of "
                f"{self.topic_partition}",
            )
        return reading.read(
            self.segments,
            self._positions,
            offset,
            max_bytes,
            min(upper, self.log_end_offset),
            self.log_end_offset,
            min_one_batch,
        )

    def aborted_transactions(self, first_offset: int, upper: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions in [first_offset, upper)."""
        # One segment's at a time, from its file perhaps: mostly the first ones say enough.
        entries = map(_aborted, self.segments.starting_at(first_offset))
        found = collect_aborted(entries, first_offset, upper)
        return [(entry.producer_id, entry.first_offset) for entry in found]

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """The first record at `timestamp` or later, committed or not."""
        return reading.find_timestamp(
            self.segments, timestamp, self.log_start_offset, self.log_end_offset
        )

    def max_timestamp_offset(self) -> FoundTimestamp | None:
        """The (first) record with the largest timestamp."""
        return reading.find_max_timestamp(self.segments)

    # -- truncating

    def truncate_to(self, offset: int) -> None:
        """Forget everything from `offset` on; all of a batch that holds it. A follower does
        this where its log parted from the leader's."""
        if offset >= self.log_end_offset:
            return
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)
            return
        last = self.segments.at(self.segments.floor_index(offset))
        found = last.locate(offset)
        end_offset = offset if found is None else min(offset, found[1])
        before = [one for one in self._unflushed if one.base_offset < last.base_offset]
        self._unflushed = [*before, last]
        self._lower_recovery_point(end_offset)
        doomed = [segment for segment in self.segments if segment.base_offset > offset]
        if doomed:
            self._replace([], doomed)
            for segment in reversed(doomed):
                segment.remove()
            # Else they might be back after a crash, behind a hole.
            self._disk.flush_directory(self.directory)
        if found is not None:
            last.cut(found[0], end_offset)
        self._truncated(end_offset)
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Append to another file from here on. Should a crash bring back what was cut off,
        it reaches beyond the base of the next segment: so the next start can tell that it
        is not what stood before it."""
        cut = self.segments.active
        if cut.size:
            self.roll()
            return
        cut.remove()
        new = Segment.create(self._disk, self.directory, cut.base_offset, self._clock.wall())
        new.roll_jitter_ms = self._jitter_ms()
        self._replace([new], [cut])

    def skip_to(self, offset: int) -> None:
        """Go on from `offset`: the log that this is a copy of has a hole at its end, which
        the cleaner made."""
        if offset > self.log_end_offset:
            self._roll(offset, self._clock.wall())
            self.log_end_offset = self.producers.end_offset = offset

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything; the next append is at `offset`."""
        self._lower_recovery_point(min(offset, self.log_start_offset))
        old = list(self.segments)
        for segment in reversed(old):
            segment.remove()
        self._disk.flush_directory(self.directory)
        new = Segment.create(self._disk, self.directory, offset, self._clock.wall())
        new.roll_jitter_ms = self._jitter_ms()
        self._replace([new], old)
        self.log_start_offset = self.flushed_offset = offset
        self.epochs.clear()
        self._truncated(offset)
        self.high_watermark = offset

    def _truncated(self, log_end_offset: int) -> None:
        self._truncations += 1
        self._positions.clear()
        self.log_end_offset = log_end_offset
        self.log_start_offset = min(self.log_start_offset, log_end_offset)
        self.high_watermark = min(self.high_watermark, log_end_offset)
        self.epochs.truncate_from_end(log_end_offset)
        self.epochs.save(self._report)
        self.snapshots.remove_above(log_end_offset)
        self._load_producers(self.producers)
        self.on_truncated()

    def _lower_recovery_point(self, offset: int) -> None:
        """Before anything is cut off: a start after a crash must look at what follows."""
        if self.flushed_offset > offset:
            self.flushed_offset = offset
            self.on_recovery_point_lowered()

    # -- deleting and replacing segments

    def apply_retention(self, now: Instant) -> int:
        """Delete segments that nobody may ask for any more; how many."""
        count = self._delete(self._retention.by_log_start(self.log_start_offset), now)
        if self.config.deletes_old:
            count += self._delete(self._retention.by_size(), now)
            count += self._delete(self._retention.by_age(now), now)
        return count

    @property
    def _retention(self) -> Retention:
        return Retention(self.segments, self.config, self.log_end_offset, self.high_watermark)

    def _delete(self, doomed: Sequence[Segment], now: Instant) -> int:
        if not doomed:
            return 0
        if doomed[-1] is self.segments.active:
            self._roll(self.log_end_offset, now)
        # Not before they are durable: should a crash bring them back, the next start would
        # not check them. The next round will find them flushed.
        doomed = [segment for segment in doomed if segment not in self._unflushed]
        if not doomed:
            return 0
        self._replace([], doomed)
        self._remove_later(doomed)
        for segment in doomed:
            self.snapshots.remove(segment.base_offset)
        first = self.segments.first.base_offset
        if first > self.log_start_offset:
            self.advance_log_start_offset(first)
        return len(doomed)
