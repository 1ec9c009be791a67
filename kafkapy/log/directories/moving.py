"""Moving a log to another directory of the node while it is in use (KIP-113).

    current (in use)   |──────────────────────────|──> appends go on
    future (a copy)    |───────────────────> catching up, piece by piece
                                                  | flushed, caught up: takes the place

The future log is a follower of the current one, in the same process: it copies batches as
they are and truncates where the current log was truncated. It takes over at a moment when
it has everything and has made durable whatever the current log had or may have.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.byte_rate import ByteRate
from kafkapy.core.errors import Corrupt, DiskFailed, Refused
from kafkapy.core.jobs import SLICE_US, WAITING, Job, Pause, Steps
from kafkapy.core.seams import Clock
from kafkapy.log.partition_log import PartitionLog

# Read, checked and written in about a millisecond: each piece is a slice of the job.
_PIECE_BYTES: Final = 1024 * 1024
# A batch that cannot be read now may be overwritten, truncated or deleted by then.
_RETRY_MS: Final = 15_000


class Move:
    """`finished` is called once the future log can take the current one's place."""

    def __init__(
        self,
        clock: Clock,
        current: PartitionLog,
        future: PartitionLog,
        *,
        rate: ByteRate,
        finished: Callable[["Move"], None],
        failed: Callable[[DiskFailed], None],
    ) -> None:
        self.current = current
        self.future = future
        self._clock = clock
        self._rate = rate
        self._finished = finished
        self._failed = failed
        # A life before this one may have flushed all of it, and nobody knows any more.
        self._perhaps_durable = current.log_end_offset
        self._job = Job(clock, self._run())
        self._flush_failed: DiskFailed | None = None

    def start(self) -> None:
        self._job.start_soon()

    def stop(self) -> None:
        self._job.stop()

    def _run(self) -> Steps:
        while True:
            try:
                self._follow_truncation()
                copied = self._copy_piece()
                if copied:
                    self._rate.record(copied, self._clock.now())
                    yield SLICE_US
                    while pause_ms := self._rate.wait_ms(self._clock.now()):
                        yield Pause(pause_ms)
                elif self.future.flushed_offset < self._due():
                    self.future.flush(self._flushed)
                    yield WAITING
                    if self._flush_failed is not None:
                        raise self._flush_failed
                else:
                    self._hand_over()
                    return
            except DiskFailed as error:
                self._failed(error)
                return
            except (Corrupt, Refused):
                # Refused: cut back within a batch, to below where the current log begins by now.
                yield Pause(_RETRY_MS)

    def _due(self) -> int:
        """Up to where the copy has to be durable before it takes over."""
        due = max(self.current.flushed_offset, self._perhaps_durable)
        return min(due, self.future.log_end_offset)

    def _follow_truncation(self) -> None:
        current, future = self.current, self.future
        if future.log_end_offset < current.log_start_offset:
            future.truncate_fully_and_start_at(current.log_start_offset)
        while future.log_end_offset > future.log_start_offset and future.latest_epoch >= 0:
            epoch, end_offset = current.end_offset_for_epoch(future.latest_epoch)
            if epoch == future.latest_epoch and end_offset >= future.log_end_offset:
                break
            if epoch < 0:
                future.truncate_fully_and_start_at(current.log_start_offset)
            else:
                _, own_end = future.end_offset_for_epoch(epoch)
                future.truncate_to(min(end_offset, max(own_end, future.log_start_offset)))
        future.truncate_to(current.log_end_offset)

    def _copy_piece(self) -> int:
        current, future = self.current, self.future
        read = current.read(future.log_end_offset, _PIECE_BYTES, upper=current.log_end_offset)
        if not read.size:
            future.skip_to(current.log_end_offset)
            return 0
        data = bytearray()
        for part in read.slices:
            data += part.read()
            part.release()
        future.append_as_follower(memoryview(data).toreadonly())
        future.advance_high_watermark(current.high_watermark)
        return read.size

    def _hand_over(self) -> None:
        """Epochs without records are not in the batches; the rest is here already."""
        for epoch, start_offset in self.current.epochs:
            if epoch > self.future.latest_epoch:
                self.future.assign_epoch(epoch, start_offset)
        self.future.advance_high_watermark(self.current.high_watermark)
        self.future.advance_log_start_offset(self.current.log_start_offset)
        self._finished(self)

    def _flushed(self, error: DiskFailed | None) -> None:
        self._flush_failed = error
        self._job.resume()
