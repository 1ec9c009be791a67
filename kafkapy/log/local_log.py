"""The segments of a log as files: roll, flush, remove, close.

    append --roll--> sealed, its indexes written --flush--> recovery point moves past it
                                                 --remove-> .deleted --later--> gone

The order that a crash relies on: the recovery point moves to an offset only when all of
the log below it is on the disk, the index files of sealed segments and the leader epochs
included. Whatever is above it is checked batch by batch by the next start.

What the offsets mean (high watermark, log start, producers' orders) is PartitionLog's.
"""

from collections.abc import Sequence
from uuid import UUID

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback, Clock, Disk, Flushed, Rng, Timer
from kafkapy.core.time import Instant, later
from kafkapy.log.directories.partition_metadata import encode_partition_metadata
from kafkapy.log.joined import join
from kafkapy.log.leader_epochs import LeaderEpochs
from kafkapy.log.names import PARTITION_METADATA
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.log.reading import Positions
from kafkapy.log.recovery import Loaded, Opening, load_producers
from kafkapy.log.segments.rolling import NO_ROOM
from kafkapy.log.segments.segment import Segment


class LocalLog:
    """`on_disk_failed` hears of failures that no caller is waiting for,
    `on_recovery_point_lowered` before anything is cut off, `on_truncated` after it,
    `on_replacing` before segments are replaced by ones with gaps."""

    __slots__ = (
        "_begun_epochs",
        "_clock",
        "_disk",
        "_epochs",
        "_flush_timer",
        "_is_sealed",
        "_is_topic_id_saved",
        "_positions",
        "_producer_expiry_ms",
        "_producers",
        "_rng",
        "_room",
        "_timers",
        "_truncations",
        "_unflushed",
        "config",
        "directory",
        "flushed_offset",
        "high_watermark",
        "is_closed",
        "log_end_offset",
        "log_start_offset",
        "on_disk_failed",
        "on_recovery_point_lowered",
        "on_replacing",
        "on_truncated",
        "recovered",
        "segments",
        "snapshots",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        opening: Opening,
        loaded: Loaded,
        topic_id: UUID | None,
        high_watermark: int,
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self.directory = opening.directory
        self.topic_partition = opening.topic_partition
        self.topic_id = topic_id
        self.config = opening.config
        self.recovered = loaded.recovered
        self.segments = loaded.segments
        self.snapshots = loaded.snapshots
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        # Every record below is on the disk.
        self.flushed_offset = loaded.recovery_point
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
        self.on_disk_failed: Flushed = _nothing
        self.on_recovery_point_lowered: Callback = _do_nothing
        self.on_replacing: Callback = _do_nothing
        self.on_truncated: Callback = _do_nothing
        self._epochs = loaded.epochs
        # (epoch, start offset) of those that began before the others were read.
        self._begun_epochs: tuple[tuple[int, int], ...] = ()
        self._producers = loaded.producers
        self._producer_expiry_ms = opening.producer_expiry_ms
        self._positions = Positions()
        self._room = NO_ROOM
        self._timers: set[Timer] = set()
        self._flush_timer: Timer | None = None
        self._truncations = 0
        # Sealed segments whose index files may not be on the disk yet, ascending.
        self._unflushed: list[Segment] = []
        if not loaded.recovered.is_clean:
            self._unflushed = self.segments.starting_at(loaded.recovery_point)[:-1]
        self.is_closed = False
        self._is_topic_id_saved = True
        self._is_sealed = False  # all of it, after a clean close
        self.segments.active.roll_jitter_ms = self._jitter_ms()

    # -- looking

    @property
    def epochs(self) -> LeaderEpochs:
        if self._epochs is None:
            self._epochs = LeaderEpochs(self._disk, self.directory)
            self._epochs.truncate_from_end(self.log_end_offset)
            self._epochs.truncate_from_start(self.log_start_offset)
            for epoch, start_offset in self._begun_epochs:
                self._epochs.assign(epoch, start_offset)
            self._begun_epochs = ()
        return self._epochs

    @property
    def producers(self) -> ProducerStates:
        if self._producers is None:
            self._producers = self._new_producers()
            self._load_producers(self._producers)
        return self._producers

    def _new_producers(self) -> ProducerStates:
        return ProducerStates(self.topic_partition, expiry_ms=self._producer_expiry_ms)

    def _load_producers(self, producers: ProducerStates) -> None:
        load_producers(
            producers,
            self.snapshots,
            self.segments,
            self.log_start_offset,
            self.log_end_offset,
            self._clock.wall(),
        )

    # -- rolling

    def roll(self) -> None:
        """Seal the active segment, if it holds anything, and begin a new one."""
        self._roll(self.log_end_offset, self._clock.wall())

    def _roll(self, base_offset: int, now: Instant) -> Segment:
        old = self.segments.active
        if old.base_offset == base_offset:
            return old  # nothing in it yet
        old.seal()
        segment = Segment.create(self._disk, self.directory, base_offset, now)
        segment.roll_jitter_ms = self._jitter_ms()
        self.segments.add(segment)
        self._unflushed.append(old)
        self._positions.clear()
        self.snapshots.take(self.producers, base_offset)
        self.flush(_nothing)
        return segment

    def _jitter_ms(self) -> int:
        """So that partitions created together do not all roll together."""
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return self._rng.below(most) if most > 0 else 0

    # -- durability

    @property
    def recovery_point(self) -> int:
        """From its segment on the next start checks everything, if this one ends badly.

        A segment counts as flushed with all its files: so this is at most the base of the
        first that is not, or else inside of it; never the offset at which the next one
        begins, or might.
        """
        if self._is_sealed:
            return self.flushed_offset
        first = self._unflushed[0] if self._unflushed else self.segments.active
        if self.flushed_offset <= first.base_offset:
            return self.flushed_offset
        end = self.segments.end_of(self.segments.floor_index(first.base_offset))
        return min(self.flushed_offset, end or self.log_end_offset) - 1

    @property
    def needs_flush_before_ack(self) -> bool:
        """flush.messages are written and not flushed: flush, and acknowledge after it."""
        return self.log_end_offset - self.flushed_offset >= self.config.flush_messages

    def flush(self, then: Flushed) -> None:
        """Make everything appended so far durable; then `flushed_offset` says so. Flushes
        asked for while one is under way share the next one."""
        target, truncations = self.log_end_offset, self._truncations
        sealed = list(self._unflushed)
        if target <= self.flushed_offset and not sealed:
            then(None)
            return

        def flushed(error: DiskFailed | None) -> None:
            if error is None and self._truncations == truncations:
                self._unflushed = [one for one in self._unflushed if one not in sealed]
                self.flushed_offset = max(self.flushed_offset, target)
            self._report(error)
            then(error)

        one_flushed = join(len(sealed) + 3, flushed)
        for segment in sealed:
            segment.flush_sealed(one_flushed)
        self.segments.active.flush(one_flushed)
        self.epochs.save(one_flushed)
        self._save_topic_id(one_flushed)

    def _flush_within(self, flush_ms: int) -> None:
        """flush.ms: the longest that anything stays unflushed."""

        def flush() -> None:
            self._flush_timer = None
            self.flush(_nothing)

        if self._flush_timer is None:
            self._flush_timer = self._clock.call_at(later(self._clock.now(), flush_ms), flush)

    def adopt_topic_id(self, topic_id: UUID) -> None:
        """The log had none until now: it is new, or from before topics had ids."""
        if self.topic_id is None:
            self.topic_id = topic_id
            self._is_topic_id_saved = False
            self._save_topic_id(self._report)

    def _save_topic_id(self, then: Flushed) -> None:
        if self._is_topic_id_saved or self.topic_id is None:
            then(None)
            return

        def saved(error: DiskFailed | None) -> None:
            self._is_topic_id_saved = error is None
            then(error)

        path = f"{self.directory}/{PARTITION_METADATA}"
        self._disk.write_file_later(path, encode_partition_metadata(self.topic_id), saved)

    def _report(self, error: DiskFailed | None) -> None:
        # Once closed its directory may be renamed or gone, and nobody minds; nor does who
        # moved meanwhile (`moved` writes anew what was on its way to the old place).
        is_ours = error is not None and error.path.startswith(f"{self.directory}/")
        if error is not None and is_ours and not self.is_closed:
            self.on_disk_failed(error)

    # -- producers

    def expire_producers(self, now: Instant) -> int:
        """Forget producers that have been silent for producer.id.expiration.ms."""
        return 0 if self._producers is None else self._producers.expire(now)

    # -- removing and replacing segments

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Put cleaned segments (sealed, flushed, state ".cleaned") in the place of `old`."""
        # What is below the recovery point may have gaps, what is above it may not.
        self.on_replacing()
        for segment in reversed(new):
            segment.rename(".swap")
        self._replace(new, old)
        self._remove_later(old)
        for segment in new:
            segment.rename("")
        bases = {segment.base_offset for segment in new}
        for segment in old:
            if segment.base_offset not in bases:
                self.snapshots.remove(segment.base_offset)

    def _replace(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """In memory: `new` (durable) in the place of `old`."""
        self.segments.replace(new, old)
        active = self.segments.active
        self._unflushed = [one for one in self._unflushed if one not in old and one is not active]

    def _remove_later(self, segments: Sequence[Segment]) -> None:
        """Consumers may be reading them: rename now, unlink after file.delete.delay.ms."""
        for segment in segments:
            segment.rename(".deleted")

        def remove() -> None:
            self._timers.discard(timer)
            try:
                for segment in segments:
                    segment.remove()
            except DiskFailed as error:
                self._report(error)

        when = later(self._clock.now(), self.config.file_delete_delay_ms)
        timer = self._clock.call_at(when, remove)
        self._timers.add(timer)

    # -- memory and the end

    def drop_idle_memory(self) -> None:
        """Called now and then: indexes that nobody used since the last time go."""
        for segment in self.segments:
            segment.drop_idle_indexes()

    def close(self, then: Flushed) -> None:
        """Leave everything as a clean start expects it, durably; then the files are closed."""
        active = self.segments.active
        self._cancel_timers()
        if not active.is_modified and not self._unflushed:
            self.flushed_offset = self.log_end_offset
            self._is_sealed = True
            self.abandon()
            then(None)
            return

        def flushed(error: DiskFailed | None) -> None:
            if error is None:
                self.flushed_offset = self.log_end_offset
                self._is_sealed = True
            self.abandon()
            then(error)

        active.seal()
        self.snapshots.take(self.producers, self.log_end_offset)
        one_flushed = join(3, flushed)
        self.flush(one_flushed)
        active.flush_sealed(one_flushed)
        self.snapshots.flush_latest(one_flushed)

    def abandon(self) -> None:
        """Let all files go, as they are: the log was deleted, or its disk has failed."""
        self.is_closed = True
        self._cancel_timers()
        for segment in self.segments:
            segment.close()

    def _cancel_timers(self) -> None:
        """What waits to be unlinked is found by the next start."""
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def moved(self, directory: str) -> None:
        """The directory was renamed."""
        self.directory = directory
        self.snapshots.directory = directory
        if self._epochs is not None:
            self._epochs.directory = directory
        for segment in self.segments:
            segment.directory = directory
        self._save_topic_id(self._report)
        self.epochs.save(self._report)


def _nothing(_: DiskFailed | None) -> None:
    pass


def _do_nothing() -> None:
    pass
