"""When a log goes on in a new segment, and how far it is until somebody has to ask.

`should_roll` is the rule. A segment that takes a hundred thousand small batches a second
would ask it as often; so a `Room` says up to where its answer stays the same.
"""

from collections.abc import Sequence
from typing import Final

from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.log.recovery import MAX_RELATIVE_OFFSET
from kafkapy.log.segments.segment import Segment
from kafkapy.protocol.batches.batch import BatchHeader


def should_roll(
    segment: Segment,
    config: LogConfig,
    headers: Sequence[BatchHeader],
    size: int,
    now: Instant,
) -> bool:
    """Whether `size` bytes of batches belong into a new segment."""
    if segment.size > config.segment_bytes - size:
        return True
    if headers[-1].last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
        return True
    if segment.size == 0:
        return False
    if not segment.entries_left(config.segment_index_bytes):
        return True
    max_age_ms = _max_age_ms(segment, config)
    first_timestamp = segment.first_timestamp
    if first_timestamp >= 0:
        newest = max([header.max_timestamp for header in headers])
        return newest - first_timestamp > max_age_ms
    return now - segment.created > max_age_ms


class Room:
    """A batch that ends within all three need not roll that segment, under the settings of then."""

    __slots__ = ("last_offset", "segment", "size", "timestamp")

    def __init__(
        self, segment: Segment | None, size: int, last_offset: int, timestamp: int
    ) -> None:
        self.segment = segment
        self.size = size
        self.last_offset = last_offset
        self.timestamp = timestamp


NO_ROOM: Final = Room(None, -1, -1, -1)


def room_in(segment: Segment, config: LogConfig) -> Room:
    """What is left in a segment that is not empty."""
    entries_left = segment.entries_left(config.segment_index_bytes)
    first_timestamp = segment.first_timestamp
    if not entries_left or first_timestamp < 0:
        return NO_ROOM
    # An append adds an entry when more than the interval has come since the last one did,
    # and that may be now: so the last entry is not counted on.
    until_full = segment.size + (entries_left - 1) * config.index_interval_bytes
    return Room(
        segment,
        min(config.segment_bytes, until_full),
        segment.base_offset + MAX_RELATIVE_OFFSET,
        first_timestamp + _max_age_ms(segment, config),
    )


def _max_age_ms(segment: Segment, config: LogConfig) -> int:
    max_age_ms = config.segment_ms
    if max_age_ms > config.max_compaction_lag_ms:
        max_age_ms = config.max_segment_age_ms
    return max_age_ms - segment.roll_jitter_ms
