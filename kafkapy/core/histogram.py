"""How often something was as large as that: counts by upper bounds, and the sum.

Cumulative only when it is read, so that an observation is one search and two additions.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

# In seconds: from what an answer out of memory takes to what people call broken.
LATENCIES: Final = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
    30.0,
)  # fmt: skip


class Histogram:
    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float] = LATENCIES) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> Iterator[tuple[float, int]]:
        """(upper bound, how many were not above it), the last bound being infinity."""
        return zip((*self.bounds, float("inf")), accumulate(self.counts), strict=True)
