"""The log cleaner: compaction of one log directory's partitions, in slices on the loop.

    tick --> choose the filthiest log --> round --slice, slice, slice--> checkpoint
      ^                                                                      |
      +-------------- none is due: wait for the next tick <------------------+

A slice does some 64 KiB worth of work (about a millisecond), then lets the loop run what
is ready. `cleaner-offset-checkpoint` holds where each log's dirty part begins; it is
written after each round and whenever an offset in it is no longer true.

There is one cleaner per log directory, so a disk that fails stops only its own.
"""

from collections.abc import Callable, Iterable
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Callback, Clock, Disk
from kafkapy.core.time import Instant, later
from kafkapy.log.cleaning.candidates import Candidate, assess, filthiest
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.round import Aborted, CleanableLog, CleaningRound, Steps
from kafkapy.log.directories.checkpoints import encode_offsets, read_offsets
from kafkapy.log.names import CLEANER_CHECKPOINT

SLICE_COST: Final = 64 * 1024


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
    """`logs` are the directory's partitions; `finished` hears of each round, `failed` of
    the disk's failure, after which the cleaner does nothing any more."""

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        directory: str,
        logs: Callable[[], Iterable[CleanableLog]],
        *,
        settings: CleanerSettings,
        finished: Callable[[Cleaned], None],
        failed: Callable[[DiskFailed], None],
    ) -> None:
        self.settings = settings
        # Logs with bytes that cannot be read: left alone until the next start.
        self.uncleanable: dict[TopicPartition, Corrupt] = {}
        self._disk = disk
        self._clock = clock
        self._path = f"{directory}/{CLEANER_CHECKPOINT}"
        self._logs = logs
        self._finished = finished
        self._failed = failed
        self._checkpoint: dict[TopicPartition, int] | None = None
        self._paused: set[TopicPartition] = set()
        self._round: CleaningRound | None = None
        self._steps: Steps | None = None
        self._waiting: Steps | None = None
        self._slicing: Steps | None = None
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
        now = self._clock.now()
        try:
            candidate = filthiest(self._candidates(now))
        except DiskFailed as error:
            self._fail(error)
            return
        if candidate is None:
            return
        settings = self.settings
        offsets = OffsetMap(settings.dedupe_buffer_size, settings.dedupe_buffer_load_factor)

        def resume() -> None:
            if self._waiting is steps:
                self._waiting = None
                self._clock.call_soon(run_slice)

        def run_slice() -> None:
            # A round that was ended may still have a slice coming.
            if self._steps is steps and self._waiting is None:
                self._run_slice(steps, run_slice)

        self._round = CleaningRound(
            self._disk,
            candidate.log,
            candidate.first_dirty_offset,
            candidate.first_uncleanable_offset,
            offsets,
            now,
            resume,
        )
        steps = self._steps = self._run_round(self._round, candidate, offsets)
        self._clock.call_soon(run_slice)

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
                except Corrupt as error:
                    self.uncleanable[topic_partition] = error
        return candidates

    def _run_round(self, work: CleaningRound, candidate: Candidate, offsets: OffsetMap) -> Steps:
        began = self._clock.now()
        yield from work.run()
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

    def _run_slice(self, steps: Steps, run_slice: Callback) -> None:
        """Work until the slice is full; then let others run."""
        cost = 0
        self._slicing = steps
        try:
            while cost < SLICE_COST:
                step = next(steps)
                if step is None:
                    self._waiting = steps
                    return
                cost += step
        except (StopIteration, Aborted) as end:
            if self._steps is steps:
                self._round_ended(has_finished=isinstance(end, StopIteration))
        except Corrupt as error:
            if self._round is not None and self._steps is steps:
                self.uncleanable[self._round.log.topic_partition] = error
                self._round_ended(has_finished=False)
        except DiskFailed as error:
            self._fail(error)
        else:
            self._schedule(cost, run_slice)
        finally:
            self._slicing = None

    def _round_ended(self, *, has_finished: bool) -> None:
        """On to the next log, unless that would be the same one with the same result."""
        work, self._round, self._steps = self._round, None, None
        if has_finished and work is not None and work.has_advanced:
            self.tick()

    def _schedule(self, cost: int, run_slice: Callback) -> None:
        pause_ms = int(cost * 1000 / self.settings.io_max_bytes_per_second)
        if pause_ms:
            self._clock.call_at(later(self._clock.now(), pause_ms), run_slice)
        else:
            self._clock.call_soon(run_slice)

    def _end(self) -> None:
        steps, work = self._steps, self._round
        self._round = self._steps = self._waiting = None
        if steps is None or work is None:
            return
        if self._slicing is steps:
            work.abort()  # asked from within its own slice: it ends at its next step
        else:
            steps.close()  # removes the files of the unfinished group

    def _fail(self, error: DiskFailed) -> None:
        self._is_stopped = True
        self._round = self._steps = None
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
