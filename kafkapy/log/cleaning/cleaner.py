"""The log cleaner: compaction of one log directory's partitions.

    tick --> choose the filthiest log --> round --slice, slice, slice--> checkpoint
      ^                                                                      |
      +-------------- none is due: wait for the next tick <------------------+

A round is a job (core/jobs.py): requests are served between its slices.
`cleaner-offset-checkpoint` holds where each log's dirty part begins; it is written after
each round and whenever an offset in it is no longer true.

There is one cleaner per log directory, so a disk that fails stops only its own.
"""

from collections.abc import Callable, Iterable
from contextlib import closing
from struct import error as StructError
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import WAITING, Job, Pause, Steps
from kafkapy.core.seams import Clock, Disk
from kafkapy.core.time import Instant
from kafkapy.log.cleaning.candidates import Candidate, assess, filthiest
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.round import Aborted, CleanableLog, CleaningRound
from kafkapy.log.directories.checkpoints import encode_offsets, read_offsets
from kafkapy.log.names import CLEANER_CHECKPOINT

# What a microsecond does: the keys of short records cost more, by round.py's count of bytes.
BYTES_A_US: Final = 64
# log.cleaner.io.max.bytes.per.second is kept from one such amount to the next.
_PACED_BYTES: Final = 64 * 1024
# What bytes that are not what they claim to be have made of code that reads them, should it
# not have said Corrupt: a log is full of what clients wrote, and one of them is not the node.
# FileNotFoundError: somebody removed an index.
_UNREADABLE: Final = (
    Corrupt,
    StructError,
    ArithmeticError,
    LookupError,
    ValueError,
    MemoryError,
    FileNotFoundError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerSettings:
    """log.cleaner.*; the dedupe buffer is this cleaner's share."""

    is_enabled: bool = True
    dedupe_buffer_size: int = 128 * 1024 * 1024
    dedupe_buffer_load_factor: float = 0.9
    io_max_bytes_per_second: float = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What a round did, for one line of the journal."""

    topic_partition: TopicPartition
    first_dirty_offset: int
    end_offset: int
    bytes_read: int
    bytes_written: int
    map_fullness: float
    duration_ms: int


class Cleaner:
    """`logs` are the directory's partitions; `finished` hears of each round, `gave_up` of each
    log that cannot be cleaned, `failed` of the disk's failure, after which the cleaner does
    nothing any more."""

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        directory: str,
        logs: Callable[[], Iterable[CleanableLog]],
        *,
        settings: CleanerSettings,
        finished: Callable[[Cleaned], None],
        gave_up: Callable[[TopicPartition, Exception], None],
        failed: Callable[[DiskFailed], None],
    ) -> None:
        self.settings = settings
        # Logs with bytes that cannot be read: left alone until the next start.
        self.uncleanable: dict[TopicPartition, Exception] = {}
        self._disk = disk
        self._clock = clock
        self._path = f"{directory}/{CLEANER_CHECKPOINT}"
        self._logs = logs
        self._finished = finished
        self._gave_up = gave_up
        self._failed = failed
        self._checkpoint: dict[TopicPartition, int] | None = None
        self._paused: set[TopicPartition] = set()
        self._round: CleaningRound | None = None
        self._job: Job | None = None
        self._is_stopped = False

    # -- what others ask

    @property
    def cleaning(self) -> TopicPartition | None:
        """The partition that is being cleaned now."""
        return None if self._round is None else self._round.log.topic_partition

    def tick(self) -> None:
        """Every log.cleaner.backoff.ms, and when something is known to be dirty."""
        if self._round is None and self.settings.is_enabled and not self._is_stopped:
            self._begin()

    def first_dirty_offset(self, topic_partition: TopicPartition) -> int | None:
        return self._offsets().get(topic_partition)

    def pause(self, topic_partition: TopicPartition) -> None:
        """Leave the partition alone until `unpause`; a round in the works ends now."""
        self._paused.add(topic_partition)
        self.abort(topic_partition)

    def unpause(self, topic_partition: TopicPartition) -> None:
        self._paused.discard(topic_partition)

    def abort(self, topic_partition: TopicPartition) -> None:
        """Before the log is truncated or its settings change: end a round in the works."""
        if self._round is not None and self.cleaning == topic_partition:
            self._end()

    def truncated(self, topic_partition: TopicPartition, active_base_offset: int) -> None:
        """The log was truncated: what is above the active segment's base is dirty again."""
        self.abort(topic_partition)
        if self._offsets().get(topic_partition, 0) > active_base_offset:
            self._remember(topic_partition, active_base_offset)

    def removed(self, topic_partition: TopicPartition) -> int | None:
        """The log is gone from this directory; its first dirty offset, for where it went."""
        self.abort(topic_partition)
        self._paused.discard(topic_partition)
        self.uncleanable.pop(topic_partition, None)
        offset = self._offsets().pop(topic_partition, None)
        if offset is not None:
            self._write()
        return offset

    def added(self, topic_partition: TopicPartition, first_dirty_offset: int) -> None:
        """The log came from another directory, cleaned up to there."""
        self._remember(topic_partition, first_dirty_offset)

    def stop(self) -> None:
        self._is_stopped = True
        self._end()

    # -- one round after another

    def _begin(self) -> None:
        now = self._clock.wall()
        try:
            candidate = filthiest(self._candidates(now))
        except DiskFailed as error:
            self._fail(error)
            return
        if candidate is None:
            return
        settings = self.settings
        offsets = OffsetMap(settings.dedupe_buffer_size, settings.dedupe_buffer_load_factor)

        work = self._round = CleaningRound(
            self._disk,
            candidate.log,
            candidate.first_dirty_offset,
            candidate.first_uncleanable_offset,
            offsets,
            now,
            lambda: job.resume(),
        )
        job = self._job = Job(self._clock, self._run(work, candidate, offsets))
        job.start_soon()

    def _candidates(self, now: Instant) -> list[Candidate]:
        candidates = []
        for log in self._logs():
            topic_partition = log.topic_partition
            if (
                log.config.is_compacted
                and topic_partition not in self._paused
                and topic_partition not in self.uncleanable
            ):
                checkpoint = self._offsets().get(topic_partition, log.log_start_offset)
                try:
                    candidates.append(assess(log, checkpoint, now))
                except _UNREADABLE as error:
                    self._give_up(topic_partition, error)
        return candidates

    def _run(self, work: CleaningRound, candidate: Candidate, offsets: OffsetMap) -> Steps:
        has_finished, began = False, self._clock.now()
        try:
            yield from self._paced(work)
            self._note(work, candidate, offsets, began)
            has_finished = True
        except Aborted:
            pass
        except _UNREADABLE as error:
            if self._round is work:
                self._give_up(work.log.topic_partition, error)
        except DiskFailed as error:
            self._fail(error)
        # On to the next log, unless that would be the same one with the same result.
        if self._round is work:
            self._round = self._job = None
            if work.log.topic_partition in self.uncleanable or (has_finished and work.has_advanced):
                self.tick()

    def _give_up(self, topic_partition: TopicPartition, error: Exception) -> None:
        self.uncleanable[topic_partition] = error
        self._gave_up(topic_partition, error)

    def _paced(self, work: CleaningRound) -> Steps:
        unpaid = unpaced = 0
        with closing(work.run()) as steps:
            for cost in steps:
                if cost is None:
                    yield WAITING
                    continue
                unpaid += cost
                yield unpaid // BYTES_A_US
                unpaid %= BYTES_A_US
                unpaced += cost
                if unpaced >= _PACED_BYTES:
                    pause_ms = int(unpaced * 1000 / self.settings.io_max_bytes_per_second)
                    unpaced = 0
                    if pause_ms:
                        yield Pause(pause_ms)

    def _note(
        self, work: CleaningRound, candidate: Candidate, offsets: OffsetMap, began: Instant
    ) -> None:
        topic_partition = work.log.topic_partition
        self._remember(topic_partition, work.end_offset)
        self._finished(
            Cleaned(
                topic_partition=topic_partition,
                first_dirty_offset=candidate.first_dirty_offset,
                end_offset=work.end_offset,
                bytes_read=work.bytes_read,
                bytes_written=work.bytes_written,
                map_fullness=offsets.fullness,
                duration_ms=self._clock.now() - began,
            )
        )

    def _end(self) -> None:
        job, work = self._job, self._round
        self._round = self._job = None
        if job is not None and work is not None:
            work.abort()  # if it is asked from within its own step, that ends here
            job.stop()

    def _fail(self, error: DiskFailed) -> None:
        self._is_stopped = True
        self._round = self._job = None
        self._failed(error)

    # -- the checkpoint

    def _offsets(self) -> dict[TopicPartition, int]:
        if self._checkpoint is None:
            self._checkpoint = read_offsets(self._disk, self._path)
        return self._checkpoint

    def _remember(self, topic_partition: TopicPartition, offset: int) -> None:
        self._offsets()[topic_partition] = offset
        self._write()

    def _write(self) -> None:
        data = encode_offsets(self._offsets())
        self._disk.write_file_later(self._path, data, self._written)

    def _written(self, error: DiskFailed | None) -> None:
        if error is not None and not self._is_stopped:
            self._fail(error)
