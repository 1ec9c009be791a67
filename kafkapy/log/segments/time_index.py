"""The .timeindex of a segment: from timestamps to offsets, sparsely.

    i64 largest timestamp so far | i32 last offset of the batch that has it, relative

Both columns ascend: an entry says "everything up to here is not newer than that". A
sealed segment's last entry holds the largest timestamp of all of it. formats/log 8.
"""

from bisect import bisect_left
from collections.abc import Callable
from struct import Struct
from typing import Final

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes

_ENTRY: Final = Struct(">qi")
ENTRY_SIZE: Final = _ENTRY.size
NO_TIMESTAMP: Final = -1


class TimeIndex:
    """`saved` counts the entries that are in the file already."""

    __slots__ = ("_base_offset", "data", "saved")

    def __init__(self, base_offset: int, data: Bytes = b"") -> None:
        """Corrupt if the data is no time index: rebuild it then."""
        if len(data) % ENTRY_SIZE:
            raise Corrupt(f"a time index of {len(data)} bytes")
        self._base_offset = base_offset
        self.data = bytearray(data)
        self.saved = len(self)
        # An index that was not trimmed (a Kafka that crashed) ends in zeros.
        if len(self) > 1 and self.last[0] <= self[0][0]:
            raise Corrupt(f"a time index from {self[0]} to {self.last}")

    def __len__(self) -> int:
        return len(self.data) // ENTRY_SIZE

    def __getitem__(self, index: int) -> tuple[int, int]:
        """(timestamp, offset) of one entry."""
        timestamp, relative = _ENTRY.unpack_from(self.data, index * ENTRY_SIZE)
        return timestamp, self._base_offset + relative

    @property
    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) if there is none."""
        return self[len(self) - 1] if self.data else (NO_TIMESTAMP, self._base_offset)

    def append(self, timestamp: int, offset: int) -> None:
        """An entry only if `timestamp` is newer than all before."""
        last_timestamp, last_offset = self.last
        if timestamp > last_timestamp:
            assert offset >= last_offset, (timestamp, offset, self.last)
            self.data += _ENTRY.pack(timestamp, offset - self._base_offset)

    def lookup(self, timestamp: int) -> int:
        """The last offset known to have nothing newer than `timestamp` up to it, or the base."""
        below = self._count(lambda entry: entry[0] <= timestamp)
        return self[below - 1][1] if below else self._base_offset

    def truncate(self, offset: int) -> None:
        """Forget entries at `offset` and above."""
        kept = self._count(lambda entry: entry[1] < offset)
        del self.data[kept * ENTRY_SIZE :]
        self.saved = min(self.saved, kept)

    def unsaved(self) -> bytes:
        return bytes(self.data[self.saved * ENTRY_SIZE :])

    def _count(self, holds: Callable[[tuple[int, int]], bool]) -> int:
        """How many entries from the start on `holds` is true for."""
        return bisect_left(range(len(self)), 1, key=lambda index: not holds(self[index]))
