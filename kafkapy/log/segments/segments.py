"""The segments of one partition log, in order.

    base offsets   0        1000        2000 (active)
                   |─────────|───────────|────────────> appends

Every offset from the first base on belongs to exactly one segment; the last one is the
active one. There is always at least one.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from kafkapy.log.segments.segment import Segment


class Segments:
    __slots__ = ("_bases", "_segments", "active")

    def __init__(self, segments: Sequence[Segment]) -> None:
        assert segments, "a log has at least one segment"
        self._segments = list(segments)
        self._bases = [segment.base_offset for segment in segments]
        self.active = self._segments[-1]

    def __iter__(self) -> Iterator[Segment]:
        return iter(tuple(self._segments))

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def first(self) -> Segment:
        return self._segments[0]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self._segments)

    @property
    def sealed(self) -> list[Segment]:
        return self._segments[:-1]

    def floor_index(self, offset: int) -> int:
        """The index of the segment `offset` belongs to; the first one for what is before."""
        return max(bisect_right(self._bases, offset) - 1, 0)

    def at(self, index: int) -> Segment:
        return self._segments[index]

    def starting_at(self, offset: int) -> list[Segment]:
        """The segment `offset` belongs to and all after it."""
        first = self.floor_index(offset)
        return self._segments[first:]

    def end_of(self, index: int) -> int | None:
        """Where the next segment begins; None for the active one."""
        return self._bases[index + 1] if index + 1 < len(self._bases) else None

    def add(self, segment: Segment) -> None:
        assert segment.base_offset > self._bases[-1], (segment, self._bases[-1])
        self._segments.append(segment)
        self._bases.append(segment.base_offset)
        self.active = segment

    def replace(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """`new` in the place of `old`."""
        gone = {id(segment) for segment in old}
        kept = [segment for segment in self._segments if id(segment) not in gone]
        assert len(kept) == len(self._segments) - len(old), (old, self._segments)
        merged = sorted([*kept, *new], key=lambda segment: segment.base_offset)
        assert merged, "a log has at least one segment"
        self._segments = merged
        self._bases = [segment.base_offset for segment in merged]
        self.active = merged[-1]
