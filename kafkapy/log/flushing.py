"""How what was appended becomes durable: roll, flush, close.

    append --roll--> sealed, its indexes written --flush--> recovery point moves past it

The order that a crash relies on: the recovery point moves to an offset only when all of
the log below it is on the disk, the index files of sealed segments and the leader epochs
included. Whatever is above it is checked batch by batch by the next start.
"""

from uuid import UUID

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Flushed, Timer
from kafkapy.core.time import Instant, later
from kafkapy.log.directories.partition_metadata import encode_partition_metadata
from kafkapy.log.events import nothing
from kafkapy.log.history import History
from kafkapy.log.joined import join
from kafkapy.log.names import PARTITION_METADATA
from kafkapy.log.offsets import Offsets
from kafkapy.log.segments.segment import Segment
from kafkapy.log.storage import Storage


class Flushing:
    """Of one log; `offsets.flushed` is what it moves."""

    __slots__ = (
        "_history",
        "_is_sealed",
        "_is_topic_id_saved",
        "_offsets",
        "_storage",
        "_timer",
        "_truncations",
        "topic_id",
    )

    def __init__(
        self, storage: Storage, history: History, offsets: Offsets, topic_id: UUID | None
    ) -> None:
        self._storage = storage
        self._history = history
        self._offsets = offsets
        self._timer: Timer | None = None
        self._truncations = 0
        self._is_sealed = False  # all of it, after a clean close
        self._is_topic_id_saved = True
        self.topic_id = topic_id

    def roll(self, base_offset: int, now: Instant) -> Segment:
        """Seal the active segment, if it holds anything, and begin a new one."""
        storage = self._storage
        if storage.segments.active.base_offset == base_offset:
            return storage.segments.active
        segment = storage.roll(base_offset, now)
        self._history.snapshots.take(self._history.producers, base_offset)
        self.flush(nothing)
        return segment

    # -- flushing

    @property
    def recovery_point(self) -> int:
        """From its segment on the next start checks everything, if this one ends badly.

        A segment counts as flushed with all its files: so this is at most the base of the
        first that is not, or else inside of it; never the offset at which the next one
        begins, or might.
        """
        flushed = self._offsets.flushed
        if self._is_sealed:
            return flushed
        segments, unflushed = self._storage.segments, self._storage.unflushed
        first = unflushed[0] if unflushed else segments.active
        if flushed <= first.base_offset:
            return flushed
        end = segments.end_of(segments.floor_index(first.base_offset))
        return min(flushed, end or self._offsets.log_end) - 1

    def flush(self, then: Flushed) -> None:
        """Make everything appended so far durable; then `offsets.flushed` says so. Flushes
        asked for while one is under way share the next one."""
        storage, offsets = self._storage, self._offsets
        target, truncations = offsets.log_end, self._truncations
        sealed = list(storage.unflushed)
        if target <= offsets.flushed and not sealed:
            then(None)
            return

        def flushed(error: DiskFailed | None) -> None:
            if error is None and self._truncations == truncations:
                storage.unflushed = [one for one in storage.unflushed if one not in sealed]
                offsets.flushed = max(offsets.flushed, target)
            storage.report(error)
            then(error)

        one_flushed = join(len(sealed) + 3, flushed)
        for segment in sealed:
            segment.flush_sealed(one_flushed)
        storage.segments.active.flush(one_flushed)
        self._history.epochs.save(one_flushed)
        self._save_topic_id(one_flushed)

    def flush_within(self, flush_ms: int) -> None:
        """flush.ms: the longest that anything stays unflushed."""

        def flush() -> None:
            self._timer = None
            self.flush(nothing)

        if self._timer is None:
            clock = self._storage.clock
            self._timer = clock.call_at(later(clock.now(), flush_ms), flush)

    # -- when something is cut off

    def lower_recovery_point(self, offset: int) -> None:
        """Before anything is cut off: a start after a crash must look at what follows."""
        if self._offsets.flushed > offset:
            self._offsets.flushed = offset
            self._storage.events.on_recovery_point_lowered()

    def truncated(self) -> None:
        """A flush under way says nothing about what is appended in the place of what went."""
        self._truncations += 1
        self.save_epochs()

    def save_epochs(self) -> None:
        self._history.epochs.save(self._storage.report)

    # -- the topic id

    def adopt_topic_id(self, topic_id: UUID) -> None:
        """The log had none until now: it is new, or from before topics had ids."""
        if self.topic_id is None:
            self.topic_id = topic_id
            self._is_topic_id_saved = False
            self._save_topic_id(self._storage.report)

    def moved(self) -> None:
        """The directory was renamed: what was on its way to the old one is written anew."""
        self._save_topic_id(self._storage.report)
        self.save_epochs()

    def _save_topic_id(self, then: Flushed) -> None:
        if self._is_topic_id_saved or self.topic_id is None:
            then(None)
            return

        def saved(error: DiskFailed | None) -> None:
            self._is_topic_id_saved = error is None
            then(error)

        path = f"{self._storage.directory}/{PARTITION_METADATA}"
        self._storage.disk.write_file_later(path, encode_partition_metadata(self.topic_id), saved)

    # -- the end

    def close(self, then: Flushed) -> None:
        """Leave everything as a clean start expects it, durably; then the files are closed."""
        storage, offsets, snapshots = self._storage, self._offsets, self._history.snapshots
        active = storage.segments.active
        self._cancel_timers()
        if not active.is_modified and not storage.unflushed:
            offsets.flushed = offsets.log_end
            self._is_sealed = True
            self.abandon()
            then(None)
            return

        def flushed(error: DiskFailed | None) -> None:
            if error is None:
                offsets.flushed = offsets.log_end
                self._is_sealed = True
            self.abandon()
            then(error)

        try:
            active.seal()
            snapshots.take(self._history.producers, offsets.log_end)
        except DiskFailed as failed:
            storage.report(failed)
            flushed(failed)
            return
        one_flushed = join(3, flushed)
        self.flush(one_flushed)
        active.flush_sealed(one_flushed)
        snapshots.flush_latest(one_flushed)

    def abandon(self) -> None:
        """Let all files go, as they are: the log was deleted, or its disk has failed."""
        self._cancel_timers()
        self._storage.close()

    def _cancel_timers(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._storage.cancel_timers()
