"""Which of the oldest segments may go (formats/log 12). Decides only; the log deletes.

    by log start   all of the segment is below the log start offset (DeleteRecords)
    by size        the log is larger than retention.bytes by at least this segment
    by age         its newest record is older than retention.ms

In this order, each from the oldest on, until one may stay. Never above the high
watermark. The last two only with cleanup.policy "delete".
"""

from collections.abc import Callable, Iterator

from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.segments import Segments

# (segment, base offset of the next one or None) -> may it go?
_MayGo = Callable[[Segment, int | None], bool]


class Retention:
    """The three rules, over the segments as they are when each is asked."""

    def __init__(
        self, segments: Segments, config: LogConfig, log_end_offset: int, high_watermark: int
    ) -> None:
        self._segments = segments
        self._config = config
        self._log_end_offset = log_end_offset
        self._high_watermark = high_watermark

    def by_log_start(self, log_start_offset: int) -> list[Segment]:
        def may_go(_: Segment, next_base: int | None) -> bool:
            return next_base is not None and next_base <= log_start_offset

        return self._oldest(may_go)

    def by_size(self) -> list[Segment]:
        limit = self._config.retention_bytes
        excess = self._segments.size - limit
        if limit < 0 or excess < 0:
            return []

        def may_go(segment: Segment, _: int | None) -> bool:
            nonlocal excess
            if excess < segment.size:
                return False
            excess -= segment.size
            return True

        return self._oldest(may_go)

    def by_age(self, now: Instant) -> list[Segment]:
        limit_ms = self._config.retention_ms
        if limit_ms < 0:
            return []
        return self._oldest(lambda segment, _: now - segment.largest_timestamp > limit_ms)

    def _oldest(self, may_go: _MayGo) -> list[Segment]:
        return list(self._candidates(may_go))

    def _candidates(self, may_go: _MayGo) -> Iterator[Segment]:
        for index, segment in enumerate(self._segments):
            next_base = self._segments.end_of(index)
            end = self._log_end_offset if next_base is None else next_base
            is_empty_active = next_base is None and segment.size == 0
            if is_empty_active or end > self._high_watermark or not may_go(segment, next_base):
                return
            yield segment
