"""One partition's log on one disk.

    log start     recovery point     last stable      high watermark        log end
        |───────────────|─────────────────|─────────────────|──────────────────|
        readable    durable up to      read_committed   read_uncommitted    next append
                    here for certain   reads below      reads below         goes here

    log start <= high watermark <= log end;  recovery point <= log end

It is put together from what it stores (`Storage`), its offsets, what it remembers beside its
records (`History`: epochs, producers), how it becomes durable (`Flushing`), the one way in
(`Appender`) and what is taken away (`Trimming`). Here is what others may ask of the whole.

Nothing here knows leaders, replicas or clients: whoever owns the log moves the high watermark,
and parks acknowledgements until `flushed_offset` or the high watermark has come by.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Disk, Flushed, Rng
from kafkapy.core.time import Instant
from kafkapy.log import reading
from kafkapy.log.append import AppendInfo, Origin
from kafkapy.log.appender import Appender
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.partition_metadata import read_topic_id
from kafkapy.log.events import LogEvents
from kafkapy.log.flushing import Flushing
from kafkapy.log.history import History
from kafkapy.log.leader_epochs import LeaderEpochs
from kafkapy.log.offsets import Offsets
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import DEFAULT_EXPIRY_MS, ProducerStates
from kafkapy.log.producers.snapshots import ProducerSnapshots
from kafkapy.log.reading import FoundTimestamp, LogRead
from kafkapy.log.recovery import Loaded, Opening, Recovered, load
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.segments import Segments
from kafkapy.log.segments.transaction_index import collect_aborted
from kafkapy.log.storage import Storage
from kafkapy.log.trimming import Trimming
from kafkapy.protocol.batches.batch import batches, crc_is_valid

__all__ = ["LogRead", "PartitionLog", "Recovered"]

_aborted: Final = attrgetter("aborted")


class PartitionLog:
    """See the module."""

    __slots__ = (
        "_appender",
        "_flushing",
        "_history",
        "_storage",
        "offsets",
        "recovered",
        "segments",
        "topic_partition",
    )

    def __init__(
        self,
        clock: Clock,
        rng: Rng,
        opening: Opening,
        loaded: Loaded,
        topic_id: UUID | None,
        high_watermark: int,
    ) -> None:
        offsets = Offsets(
            loaded.log_start_offset, loaded.log_end_offset, loaded.recovery_point, high_watermark
        )
        storage = Storage(clock, rng, opening, loaded)
        history = History(clock, opening, loaded, offsets)
        flushing = Flushing(storage, history, offsets, topic_id)
        self.topic_partition: TopicPartition = opening.topic_partition
        self.recovered: Recovered = loaded.recovered
        self.segments: Segments = storage.segments
        self.offsets = offsets
        self._storage = storage
        self._history = history
        self._flushing = flushing
        self._appender = Appender(storage, offsets, history, flushing)

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
        log = cls(clock, rng, opening, load(opening), known_id, high_watermark)
        if topic_id is not None:
            log.adopt_topic_id(topic_id)
        return log

    def __repr__(self) -> str:
        return f"PartitionLog({self.directory}, {self.log_start_offset}..{self.log_end_offset})"

    # -- looking

    @property
    def directory(self) -> str:
        return self._storage.directory

    @property
    def topic_id(self) -> UUID | None:
        return self._flushing.topic_id

    @property
    def events(self) -> LogEvents:
        """What its owner wants to hear."""
        return self._storage.events

    @property
    def is_closed(self) -> bool:
        return self._storage.is_closed

    @property
    def config(self) -> LogConfig:
        return self._storage.config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self._storage.config = config
        self._appender.configured(config)

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def log_start_offset(self) -> int:
        return self.offsets.log_start

    @property
    def log_end_offset(self) -> int:
        return self.offsets.log_end

    @property
    def high_watermark(self) -> int:
        return self.offsets.high_watermark

    @property
    def last_stable_offset(self) -> int:
        offsets = self.offsets
        return self.producers.last_stable_offset(offsets.high_watermark, offsets.log_start)

    @property
    def flushed_offset(self) -> int:
        """Every record below is on the disk."""
        return self.offsets.flushed

    @property
    def recovery_point(self) -> int:
        """From its segment on the next start checks everything, if this one ends badly."""
        return self._flushing.recovery_point

    @property
    def needs_flush_before_ack(self) -> bool:
        """flush.messages are written and not flushed: flush, and acknowledge after it."""
        offsets = self.offsets
        return offsets.log_end - offsets.flushed >= self._storage.config.flush_messages

    @property
    def producers(self) -> ProducerStates:
        return self._history.producers

    @property
    def snapshots(self) -> ProducerSnapshots:
        return self._history.snapshots

    @property
    def epochs(self) -> LeaderEpochs:
        return self._history.epochs

    @property
    def latest_epoch(self) -> int:
        """-1 if no epoch is known."""
        return self._history.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset); (-1, -1) if undefined. formats/replication 2."""
        return self._history.epochs.end_offset_for(epoch, self.offsets.log_end)

    # -- appending

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        origin: Origin = Origin.CLIENT,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
        now: Instant | None = None,
    ) -> AppendInfo:
        """Check, stamp and append; Refused or DiskFailed: nothing was appended.

        A retry of a batch that is here already answers that batch and appends nothing.
        `guard` is of `producers.begin_verification`; `transaction_version` says by which
        rules a marker's epoch is judged. `now` is for who has looked already.
        """
        if now is None:
            now = self._storage.clock.wall()
        return self._appender.append_as_leader(
            records, leader_epoch, origin, transaction_version, guard, now
        )

    def append_as_follower(self, records: memoryview, *, now: Instant | None = None) -> AppendInfo:
        """Append what the leader sent, as it is. A last batch that is cut off is ignored,
        and so is what is here already. Corrupt: the leader must be asked again."""
        if now is None:
            now = self._storage.clock.wall()
        if self.offsets.log_end == self.offsets.log_start:
            self._begin_at_whole_batch(records, now)
        return self._appender.append_as_follower(records, self.topic_partition, now)

    def _begin_at_whole_batch(self, records: memoryview, now: Instant) -> None:
        """The leader's log start may be in the middle of a batch (DeleteRecords); a follower
        that begins there gets all of that batch, and its first segment begins with it."""
        start = self.offsets.log_start
        _, first = next(batches(records), (0, None))
        if first is None or not first.base_offset < start <= first.last_offset:
            return
        if crc_is_valid(records, 0, first):
            self.truncate_fully_and_start_at(first.base_offset)
            self._appender.append_as_follower(records[: first.size], self.topic_partition, now)
            self.advance_high_watermark(start)
            self.advance_log_start_offset(start)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader's epoch begins, even before it has written anything."""
        self._history.assign_epoch(epoch, start_offset)

    # -- the high watermark and both ends

    def advance_high_watermark(self, offset: int) -> None:
        """Never backwards, never above the log end."""
        offsets = self.offsets
        if offset > offsets.log_end:
            offset = offsets.log_end
        if offset > offsets.high_watermark:
            offsets.high_watermark = offset
            self._history.high_watermark_advanced(offset)

    @property
    def _trimming(self) -> Trimming:
        return Trimming(self._storage, self.offsets, self._history, self._flushing)

    def advance_log_start_offset(self, offset: int) -> bool:
        """Nothing below is readable any more; retention removes what it can. Refused above
        the high watermark. False: it was there already."""
        return self._trimming.advance_log_start_offset(offset)

    def apply_retention(self, now: Instant) -> int:
        """Delete segments that nobody may ask for any more; how many."""
        return self._trimming.apply_retention(now)

    def truncate_to(self, offset: int) -> None:
        """Forget everything from `offset` on; all of a batch that holds it."""
        self._trimming.truncate_to(offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything; the next append is at `offset`."""
        self._trimming.truncate_fully_and_start_at(offset)

    def skip_to(self, offset: int) -> None:
        """Go on from `offset`: the log that this is a copy of has a hole at its end."""
        self._trimming.skip_to(offset)

    # -- reading

    def read(
        self, offset: int, max_bytes: int, *, upper: int, min_one_batch: bool = True
    ) -> LogRead:
        """Batches from the one that holds `offset`, below `upper`, up to `max_bytes`: the
        last may be cut off, the first is whole. Refused(OFFSET_OUT_OF_RANGE) outside the log.
        """
        log_start, log_end = self.offsets.log_start, self.offsets.log_end
        if not log_start <= offset <= log_end:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{offset} is not in [{log_start}, {log_end}] of {self.topic_partition}",
            )
        return reading.read(
            self.segments,
            self._storage.positions,
            offset,
            max_bytes,
            min(upper, log_end),
            log_end,
            min_one_batch,
        )

    def aborted_transactions(
        self, first_offset: int, upper: int, size: int | None = None
    ) -> list[tuple[int, int]]:
        """(producer id, first offset) of the aborted transactions in [first_offset, upper), or
        of the `size` bytes that were read from there on: what comes behind them is told with
        the next ones, and not with all that are read before."""
        segments = [one for one in self.segments.starting_at(first_offset) if one.has_aborted]
        if not segments:
            return []
        if size is not None:
            positions, log_end = self._storage.positions, self.offsets.log_end
            end = reading.end_of_read(self.segments, positions, first_offset, size, log_end)
            upper = min(upper, end)
        # One segment's at a time, from its file perhaps: mostly the first ones say enough.
        found = collect_aborted(map(_aborted, segments), first_offset, upper)
        return [(entry.producer_id, entry.first_offset) for entry in found]

    def offset_for_timestamp(self, timestamp: int) -> FoundTimestamp | None:
        """The first record at `timestamp` or later, committed or not."""
        return reading.find_timestamp(
            self.segments, timestamp, self.log_start_offset, self.log_end_offset
        )

    def max_timestamp_offset(self) -> FoundTimestamp | None:
        """The (first) record with the largest timestamp."""
        return reading.find_max_timestamp(self.segments)

    # -- durability

    def roll(self) -> None:
        """Seal the active segment, if it holds anything, and begin a new one."""
        self._flushing.roll(self.offsets.log_end, self._storage.clock.wall())

    def flush(self, then: Flushed) -> None:
        """Make everything appended so far durable; then `flushed_offset` says so. Flushes
        asked for while one is under way share the next one."""
        self._flushing.flush(then)

    def adopt_topic_id(self, topic_id: UUID) -> None:
        """The log had none until now: it is new, or from before topics had ids."""
        self._flushing.adopt_topic_id(topic_id)

    def close(self, then: Flushed) -> None:
        """Leave everything as a clean start expects it, durably; then the files are closed."""
        self._flushing.close(then)

    def abandon(self) -> None:
        """Let all files go, as they are: the log was deleted, or its disk has failed."""
        self._flushing.abandon()

    def moved(self, directory: str) -> None:
        """The directory was renamed."""
        self._storage.moved(directory)
        self._history.moved(directory)
        self._flushing.moved()

    # -- upkeep

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Put cleaned segments (sealed, flushed, state ".cleaned") in the place of `old`."""
        self._storage.swap(new, old)
        bases = {segment.base_offset for segment in new}
        for segment in old:
            if segment.base_offset not in bases:
                self.snapshots.remove(segment.base_offset)

    def keep_producers_for(self, expiry_ms: int) -> None:
        """producer.id.expiration.ms is another one now."""
        self._history.keep_producers_for(expiry_ms)

    def expire_producers(self, now: Instant) -> int:
        """Forget producers that have been silent for producer.id.expiration.ms."""
        return self._history.expire_producers(now)

    def drop_idle_memory(self) -> None:
        """Called now and then: indexes that nobody used since the last time go."""
        self._storage.drop_idle_memory()
