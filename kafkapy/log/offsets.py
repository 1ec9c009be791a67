"""The offsets that bound a log.

    log start        flushed         high watermark        log end
        |───────────────|───────────────────|──────────────────|
        readable     on the disk up to     read_uncommitted    next append
                     here for certain      reads below         goes here

    log start <= high watermark <= log end;  flushed <= log end

Plain numbers: whoever moves one sees to what follows from it.
"""


class Offsets:
    """Those of one log."""

    __slots__ = ("flushed", "high_watermark", "log_end", "log_start")

    def __init__(self, log_start: int, log_end: int, flushed: int, high_watermark: int) -> None:
        self.log_start = log_start
        self.log_end = log_end
        self.flushed = flushed
        self.high_watermark = min(max(high_watermark, log_start), log_end)

    def end_at(self, offset: int) -> None:
        """What was at `offset` and above is gone."""
        self.log_end = offset
        self.log_start = min(self.log_start, offset)
        self.high_watermark = min(self.high_watermark, offset)

    def start_over_at(self, offset: int) -> None:
        """Everything is gone, and the next append is at `offset`."""
        self.log_start = self.log_end = self.flushed = self.high_watermark = offset
