"""What the connections of one loop read into, one after another.

A connection whose frame has not come whole keeps it in a buffer of its own; everything else is
served where it was read, before the next socket is. Loops in other threads have theirs.
"""

from typing import Final

SCRATCH_BYTES: Final = 256 * 1024
# Buffers of large frames that are done with: as many, and none larger than that.
MOST_SPARE: Final = 4
LARGEST_SPARE_BYTES: Final = 2 * 1024 * 1024


class Buffers:
    """`scratch` is written, `read_scratch` the same bytes to be looked at."""

    __slots__ = ("_spare", "read_scratch", "scratch")

    def __init__(self) -> None:
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self.read_scratch = self.scratch.toreadonly()
        self._spare: list[bytearray] = []

    def take(self, want: int) -> bytearray | None:
        """One that is done with and has room for so many bytes."""
        if self._spare and len(self._spare[-1]) >= want:
            return self._spare.pop()
        return None

    def put_back(self, buffer: bytearray) -> None:
        if len(self._spare) < MOST_SPARE and SCRATCH_BYTES <= len(buffer) <= LARGEST_SPARE_BYTES:
            self._spare.append(buffer)
