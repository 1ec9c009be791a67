"""Finding bytes in a log: by offset for fetches, by time for ListOffsets.

    offset --segments--> segment --index--> a position before it --headers--> position

Most reads never scan. Consumers at the end and followers ask for an offset that was a
log end a moment ago, and the high watermark is such an offset too: a few dozen recent
ones are remembered with their positions. Behind that, an index entry per 4 KiB leaves a
header or two to read.
"""

from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import FileSlice
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.segments import Segments
from kafkapy.protocol.batches.batch import BatchHeader, records

_REMEMBERED: Final = 32


class LogRead(NamedTuple):
    """Bytes from the batch that holds `first_offset` on; the last batch may be cut off.
    Whoever gets the slices releases them."""

    first_offset: int
    slices: list[FileSlice]
    size: int


class FoundTimestamp(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


class Positions:
    """Where recent appends to the active segment begin: offset -> position."""

    __slots__ = ("_positions",)

    def __init__(self) -> None:
        self._positions: dict[int, int] = {}

    def remember(self, offset: int, position: int) -> None:
        positions = self._positions
        positions[offset] = position
        if len(positions) > 2 * _REMEMBERED:
            for old in list(positions)[:_REMEMBERED]:
                del positions[old]

    def get(self, offset: int) -> int | None:
        return self._positions.get(offset)

    def clear(self) -> None:
        self._positions.clear()


def read(
    segments: Segments,
    positions: Positions,
    offset: int,
    max_bytes: int,
    upper: int,
    log_end_offset: int,
    min_one_batch: bool,
) -> LogRead:
    """Up to `max_bytes` from one segment, of batches that begin below `upper`.

    A segment that has nothing at or after `offset` (compaction left a hole at its end)
    passes on to the next.
    """
    index = segments.floor_index(offset)
    while offset < upper and index < len(segments):
        segment = segments.at(index)
        start = _start(segments, positions, segment, offset, log_end_offset)
        if start is not None:
            end = _end(segments, positions, index, upper, log_end_offset)
            size = end - start
            if size > 0:
                return _slice(segment, offset, start, size, max_bytes, min_one_batch)
        index += 1
    return LogRead(offset, [], 0)


def end_of_read(
    segments: Segments, positions: Positions, offset: int, size: int, log_end_offset: int
) -> int:
    """An offset that `read` did not reach when it gave `size` bytes, and not far from there."""
    for index in range(segments.floor_index(offset), len(segments)):
        segment = segments.at(index)
        start = _start(segments, positions, segment, offset, log_end_offset)
        if start is not None and start < segment.size:
            behind = segment.offsets.offset_behind(start + size)
            return behind or segments.end_of(index) or log_end_offset
    return log_end_offset


def _start(
    segments: Segments, positions: Positions, segment: Segment, offset: int, log_end_offset: int
) -> int | None:
    if segment is segments.active:
        remembered = positions.get(offset)
        if remembered is not None:
            return remembered
        if offset >= log_end_offset:
            return None
    if offset <= segment.base_offset:
        return 0
    found = segment.locate(offset)
    return None if found is None else found[0]


def _end(
    segments: Segments, positions: Positions, index: int, upper: int, log_end_offset: int
) -> int:
    """The position in this segment from which on batches are at `upper` or above."""
    segment = segments.at(index)
    next_base = segments.end_of(index)
    if upper >= log_end_offset or (next_base is not None and upper >= next_base):
        return segment.size
    if next_base is None:
        remembered = positions.get(upper)
        if remembered is not None:
            return remembered
    found = segment.locate(upper)
    return segment.size if found is None else found[0]


def _slice(
    segment: Segment, offset: int, start: int, size: int, max_bytes: int, min_one_batch: bool
) -> LogRead:
    if size > max_bytes:
        first = segment.batch_size(start)
        if first <= max_bytes:
            size = max_bytes
        elif min_one_batch:
            size = min(first, size)
        else:
            return LogRead(offset, [], 0)
    return LogRead(offset, [segment.slice(start, size)], size)


def find_timestamp(
    segments: Segments, timestamp: int, log_start_offset: int, log_end_offset: int
) -> FoundTimestamp | None:
    """The first record at `timestamp` or later (and at the log start or later)."""
    for segment in segments:
        if segment.newest[0] >= timestamp:
            # Of the segment with something new enough, nothing below this is.
            at_least = max(segment.times.lookup(timestamp), log_start_offset)
            found = _scan(segment, segment.offsets.lookup(at_least), timestamp, log_start_offset)
            if found is not None:
                return found
    return None


def _scan(
    segment: Segment, position: int, timestamp: int, log_start_offset: int
) -> FoundTimestamp | None:
    for at, header in segment.headers(position):
        if (
            header.max_timestamp >= timestamp
            and header.last_offset >= log_start_offset
            and header.record_count  # not what compaction left of one
        ):
            try:
                for record in records(segment.file.read(at, header.size)):
                    if record.timestamp >= timestamp and record.offset >= log_start_offset:
                        return FoundTimestamp(record.offset, record.timestamp, header.leader_epoch)
            except Corrupt:
                return _by_header(header, log_start_offset)
            if header.base_offset >= log_start_offset:
                return _by_header(header, log_start_offset)
    return None


def _by_header(header: BatchHeader, log_start_offset: int) -> FoundTimestamp:
    """A client made this batch, and its records cannot be read, or are not what its header says:
    who looks for them finds the batch, and sees for itself. (Of a topic full of such batches the
    first is unpacked, not all.)"""
    offset = max(header.base_offset, log_start_offset)
    return FoundTimestamp(offset, header.max_timestamp, header.leader_epoch)


def find_max_timestamp(segments: Segments) -> FoundTimestamp | None:
    """The first record with the largest timestamp of all."""
    newest = max(segments, key=lambda segment: segment.newest[0])
    timestamp, offset = newest.newest
    if timestamp < 0:
        return None
    for at, header in newest.headers(newest.offsets.lookup(offset)):
        if header.max_timestamp == timestamp and header.record_count:
            try:
                for record in records(newest.file.read(at, header.size)):
                    if record.timestamp == timestamp:
                        return FoundTimestamp(record.offset, timestamp, header.leader_epoch)
            except Corrupt:
                pass
            return _by_header(header, 0)
    return None
