"""What is taken away from a log at either end.

    retention, DeleteRecords --> |──────── the log ────────| <-- truncation

At its start whole segments go, once nobody may ask for them. At its end whatever is not what
the leader has: a follower truncates where its log parted from the leader's.
"""

from collections.abc import Sequence

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.log.flushing import Flushing
from kafkapy.log.history import History
from kafkapy.log.offsets import Offsets
from kafkapy.log.retention import Retention
from kafkapy.log.segments.segment import Segment
from kafkapy.log.storage import Storage


class Trimming:
    """Keeps nothing itself: made when something is to go."""

    __slots__ = ("_flushing", "_history", "_offsets", "_storage")

    def __init__(
        self, storage: Storage, offsets: Offsets, history: History, flushing: Flushing
    ) -> None:
        self._storage = storage
        self._offsets = offsets
        self._history = history
        self._flushing = flushing

    # -- the end

    def truncate_to(self, offset: int) -> None:
        """Forget everything from `offset` on; all of a batch that holds it."""
        storage, segments = self._storage, self._storage.segments
        if offset >= self._offsets.log_end:
            # Who led and wrote nothing has an epoch that begins here, and its leader has not.
            self._history.epochs.truncate_from_end(self._offsets.log_end)
            return
        if offset < segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)
            return
        last = segments.at(segments.floor_index(offset))
        found = last.locate(offset)
        end_offset = offset if found is None else min(offset, found[1])
        before = [one for one in storage.unflushed if one.base_offset < last.base_offset]
        storage.unflushed = [*before, last]
        self._flushing.lower_recovery_point(end_offset)
        doomed = [segment for segment in segments if segment.base_offset > offset]
        if doomed:
            storage.replace([], doomed)
            storage.remove(doomed)
        if found is not None:
            last.cut(found[0], end_offset)
        self._offsets.end_at(end_offset)
        self._truncated()
        self._begin_anew()

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything; the next append is at `offset`."""
        storage = self._storage
        self._flushing.lower_recovery_point(min(offset, self._offsets.log_start))
        old = list(storage.segments)
        storage.remove(old)
        storage.replace([storage.new_segment(offset, storage.clock.wall())], old)
        self._offsets.start_over_at(offset)
        self._history.epochs.clear()
        self._truncated()

    def skip_to(self, offset: int) -> None:
        """Go on from `offset`: the log that this is a copy of has a hole at its end, which
        the cleaner made."""
        if offset > self._offsets.log_end:
            self._flushing.roll(offset, self._storage.clock.wall())
            self._offsets.log_end = self._history.producers.end_offset = offset

    def _truncated(self) -> None:
        self._storage.positions.clear()
        self._history.epochs.truncate_from_end(self._offsets.log_end)
        self._flushing.truncated()
        self._history.reload_producers()
        self._storage.events.on_truncated()

    def _begin_anew(self) -> None:
        """Append to another file from here on. Should a crash bring back what was cut off,
        it reaches beyond the base of the next segment: so the next start can tell that it
        is not what stood before it."""
        storage = self._storage
        cut = storage.segments.active
        now = storage.clock.wall()
        if cut.size:
            self._flushing.roll(self._offsets.log_end, now)
        else:
            cut.remove()
            storage.replace([storage.new_segment(cut.base_offset, now)], [cut])

    # -- the start

    def advance_log_start_offset(self, offset: int) -> bool:
        """Nothing below is readable any more; retention removes what it can. Refused above
        the high watermark. False: it was there already."""
        offsets = self._offsets
        if offset > offsets.high_watermark:
            raise Refused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"log start {offset} above the high watermark {offsets.high_watermark} in "
                f"{self._storage.directory}",
            )
        if offset <= offsets.log_start:
            return False
        offsets.log_start = offset
        self._history.log_start_advanced(offset)
        self._flushing.save_epochs()
        return True

    def apply_retention(self, now: Instant) -> int:
        """Delete segments that nobody may ask for any more; how many."""
        count = self._delete(self._retention.by_log_start(self._offsets.log_start), now)
        if self._storage.config.deletes_old:
            count += self._delete(self._retention.by_size(), now)
            count += self._delete(self._retention.by_age(now), now)
        return count

    @property
    def _retention(self) -> Retention:
        storage, offsets = self._storage, self._offsets
        return Retention(storage.segments, storage.config, offsets.log_end, offsets.high_watermark)

    def _delete(self, doomed: Sequence[Segment], now: Instant) -> int:
        if not doomed:
            return 0
        storage = self._storage
        if doomed[-1] is storage.segments.active:
            self._flushing.roll(self._offsets.log_end, now)
        # Not before they are durable: should a crash bring them back, the next start would
        # not check them. The next round will find them flushed.
        doomed = [segment for segment in doomed if segment not in storage.unflushed]
        if not doomed:
            return 0
        storage.replace([], doomed)
        storage.remove_later(doomed)
        for segment in doomed:
            self._history.snapshots.remove(segment.base_offset)
        first = storage.segments.first.base_offset
        if first > self._offsets.log_start:
            self.advance_log_start_offset(first)
        return len(doomed)
