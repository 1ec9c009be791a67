"""One partition of a view on this node: reads its source's log, for all who fetch the view.

    fetch ──read──> what is known (views/stretches.py) ──> batches
                      │ not known                            ^
                      └─> evaluated in slices (a job) ── woken: reads again
    source ──appended──> what somebody waits for is evaluated ──┘

Fetches wait at `place`, a partition that is never led and has no log of its own: it only has
their watchers and counts their bytes. The source's partition wakes this reader, and only while
somebody waits; it wakes those who wait once there is something for them. So an append of which the
view shows nothing wakes nobody, and what it shows is evaluated once, however many wait.

Of a batch that cannot be read nothing is shown, and the journal has it: its bytes are for those
alone who may read the source.
"""

from collections import deque
from collections.abc import Generator
from typing import Final

from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock, Journal
from kafkapy.core.turn import Turn
from kafkapy.hooks.guarded import Guarded, HookFailed
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import BatchHeader, batches
from kafkapy.views.batch import filtered
from kafkapy.views.condition import Condition
from kafkapy.views.memory import Memory
from kafkapy.views.stretches import Piece, Stretches, Taken

# Read from the source at once.
_READ_BYTES: Final = 64 * 1024
_READ_COST_US: Final = 50
# With so much to show those who wait are woken; nobody waiting, so much is looked at ahead.
_ENOUGH_BYTES: Final = 256 * 1024
_AHEAD_BYTES: Final = 1024 * 1024


class _Wanted:
    """Somebody asked for what is shown from there on."""

    __slots__ = ("looked_at", "offset", "shown")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.shown = 0
        self.looked_at = 0


class ViewReader:
    def __init__(
        self,
        place: Partition,
        source: Partition,
        where: Condition,
        memory: Memory,
        clock: Clock,
        turn: Turn,
        journal: Journal,
    ) -> None:
        self.place = place
        self.source = source
        self.where = where
        #: Made for this expression and this hook.
        self.asked: tuple[str, Guarded | None] = ("", None)
        self._clock = clock
        self._turn = turn
        self._journal = journal
        self._log: PartitionLog = source.log
        self._epoch = source.leader_epoch
        self._known = Stretches(memory, self._origin_of)
        self._wanted: deque[_Wanted] = deque()
        self._job: Job | None = None
        # From where those go on who have seen all there is.
        self._end = 0
        self._is_told = False
        self._has_told_of_unreadable = False
        # From where nobody could say what comes next, and why: until somebody has heard it.
        self._failed: tuple[int, str] | None = None

    def read(self, offset: int, upper: int, max_bytes: int, *, at_least_one: bool) -> Taken:
        """What is known, and what a slice's work finds; the rest is worked on, and whoever waits
        at `place` is woken when there is more. Refused: nobody can tell what comes next."""
        self._look_at_source()
        taken = self._known.take(offset, upper, max_bytes, at_least_one=at_least_one)
        if taken.reached < upper and not taken.size and max_bytes > 0:
            self._tell_of_failure(taken)  # of slices since then; who asks after that tries again
            self._evaluate(taken.reached)
            taken = self._known.take(offset, upper, max_bytes, at_least_one=at_least_one)
            self._tell_of_failure(taken)
        self._end = max(self._end, taken.reached)
        self.source.watchers[self] = 0
        return taken

    def _tell_of_failure(self, taken: Taken) -> None:
        if self._failed is None or taken.size or self._failed[0] != taken.reached:
            return
        _, why = self._failed
        self._failed = None
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, why)

    def close(self) -> None:
        """The view is gone, or shows something else: whoever waits reads again."""
        if self._job is not None:
            self._job.stop()
        self.source.watchers.pop(self, None)
        self._known.clear()
        self._wake(0)

    # --- the source ---

    def on_more(self, mark: int, count_bytes: int) -> None:
        """The source has more, or (0 bytes) is not what it was."""
        if not count_bytes:
            self._wake(0)
        elif not self.place.watchers:
            del self.source.watchers[self]  # until the next fetch
        elif not self._is_told:
            self._is_told = True
            self._turn.at_end(self._look_again)

    def _look_again(self) -> None:
        self._is_told = False
        self._look_at_source()
        self._evaluate(self._known.end_of_known(self._end))

    def _look_at_source(self) -> None:
        """Another log, or a leader that may have another history: what is known is not so."""
        source = self.source
        if source.log is not self._log or source.leader_epoch != self._epoch:
            self._log, self._epoch = source.log, source.leader_epoch
            self._end = 0
            self._known.clear()

    def _origin_of(self, offset: int) -> object:
        segments = self._log.segments
        return segments.at(segments.floor_index(offset))

    # --- evaluating ---

    def _evaluate(self, offset: int) -> None:
        if all(one.offset != offset for one in self._wanted):
            self._wanted.append(_Wanted(offset))
        if self._job is None or self._job.is_over:
            self._job = Job(self._clock, self._work())
            self._job.start()

    def _work(self) -> Steps:
        """In turns, so that who reads old records does not hold up who waits for new ones."""
        while self._wanted:
            one = self._wanted.popleft()
            try:
                is_done = yield from self._go_on(one)
            except DiskFailed as failed:
                self.source.disk_failed(failed)
                self._wanted.clear()
                self._wake(0)
                return
            except HookFailed as failed:
                self._failed = self._known.end_of_known(one.offset), str(failed)
                self._wanted.clear()
                self._wake(0)  # who reads elsewhere wants that again, at once
                continue
            if is_done:
                if one.shown:
                    self._wake(one.shown)
            else:
                self._wanted.append(one)

    def _go_on(self, one: _Wanted) -> Generator[int, None, bool]:
        """One read from the source, if it is needed. True: that is enough for now."""
        log = self._log
        if log.is_closed:  # gone from here: its files may be gone as well
            return True
        upper = log.high_watermark
        offset = self._known.end_of_known(max(one.offset, log.log_start_offset))
        if offset >= upper or one.shown >= _ENOUGH_BYTES:
            return True
        if one.looked_at >= _AHEAD_BYTES and not self.place.watchers:
            return True
        _, slices, size = log.read(offset, _READ_BYTES, upper=upper, min_one_batch=True)
        data = memoryview(b"".join([one.read() for one in slices]))
        for each in slices:
            each.release()
        yield _READ_COST_US
        one.looked_at += size
        found = [
            (position, header, self._origin_of(header.last_offset))
            for position, header in batches(data)
            if header.last_offset >= offset and header.base_offset < upper
        ]
        if not found:  # a hole up to the end of what is there
            self._left_out(offset, upper, log.latest_epoch)
        for position, header, origin in found:
            if header.base_offset > offset:
                self._left_out(offset, header.base_offset, header.leader_epoch)
            shown = yield from self._shown(data[position : position + header.size], header)
            if log is not self.source.log or self._epoch != self.source.leader_epoch:
                return True  # what was read is not the source's any more
            piece = Piece(
                header.base_offset,
                header.next_offset,
                header.leader_epoch,
                shown,
                header.is_control,
            )
            self._known.add(piece, origin)
            one.shown += 0 if shown is None else len(shown)
            offset = header.next_offset
        return False

    def _shown(self, batch: memoryview, header: BatchHeader) -> Generator[int, None, bytes | None]:
        place = self.source.topic_partition
        try:
            return (yield from filtered(batch, header, self.where, place.partition, place.topic))
        except Corrupt as corrupt:
            self._tell_of_unreadable(header, corrupt)
            return None

    def _tell_of_unreadable(self, header: BatchHeader, corrupt: Corrupt) -> None:
        """Once: there may be many, and whoever wrote them could write as many lines."""
        if self._has_told_of_unreadable:
            return
        self._has_told_of_unreadable = True
        self._journal.error(
            "view leaves out an unreadable batch",
            view=self.place.topic_partition.topic,
            topic=self.source.topic_partition.topic,
            partition=self.source.topic_partition.partition,
            offset=header.base_offset,
            reason=corrupt,
        )

    def _left_out(self, first: int, end: int, leader_epoch: int) -> None:
        self._known.add(Piece(first, end, leader_epoch, None), self._origin_of(end - 1))

    def _wake(self, count_bytes: int) -> None:
        for watcher, mark in tuple(self.place.watchers.items()):
            watcher.on_more(mark, count_bytes)
