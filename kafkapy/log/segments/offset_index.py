"""The .index of a segment: from offsets to positions, sparsely.

    i32 last offset of a batch, relative to the segment's base | i32 position of that batch

One entry (8 bytes) for about every index.interval.bytes of log. In memory an entry is one
64-bit number with the offset in the upper half, so looking up is one bisect over an array.
formats/log 7.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes

ENTRY_SIZE: Final = 8
_POSITION_MASK: Final = 0xFFFFFFFF
_IS_LITTLE: Final = sys.byteorder == "little"


class OffsetIndex:
    """`saved` counts the entries that are in the file already."""

    __slots__ = ("_base_offset", "entries", "saved")

    def __init__(self, base_offset: int, data: Bytes = b"", log_size: int = 2**31) -> None:
        """Corrupt if `data` cannot be the index of `log_size` bytes: rebuild it then."""
        if len(data) % ENTRY_SIZE:
            raise Corrupt(f"an offset index of {len(data)} bytes")
        self._base_offset = base_offset
        self.entries = _swapped(data)
        self.saved = len(self.entries)
        if self.entries:
            # An index that was not trimmed (a Kafka that crashed) ends in zeros.
            first, last = self.entries[0], self.entries[-1]
            is_ascending = len(self.entries) == 1 or first < last
            if not is_ascending or last & _POSITION_MASK >= log_size:
                raise Corrupt(f"an offset index that ends at {divmod(last, 2**32)}")

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> tuple[int, int]:
        """(offset, position) of one entry."""
        entry = self.entries[index]
        return self._base_offset + (entry >> 32), entry & _POSITION_MASK

    def append(self, offset: int, position: int) -> None:
        entry = (offset - self._base_offset) << 32 | position
        assert not self.entries or self.entries[-1] < entry, (offset, position)
        self.entries.append(entry)

    def lookup(self, offset: int) -> int:
        """The position of a batch from which a scan finds `offset`: the last one indexed
        that does not end behind it."""
        target = (offset - self._base_offset) << 32 | _POSITION_MASK
        index = bisect_right(self.entries, max(target, 0))
        return self.entries[index - 1] & _POSITION_MASK if index else 0

    def offset_behind(self, position: int) -> int | None:
        """An offset that no batch before `position` reaches, near it; None: that of the end."""
        index = bisect_left(self.entries, position, key=_position)
        return self[index][0] if index < len(self.entries) else None

    def truncate(self, offset: int) -> None:
        """Forget entries at `offset` and above."""
        kept = bisect_left(self.entries, max(offset - self._base_offset, 0) << 32)
        del self.entries[kept:]
        self.saved = min(self.saved, kept)

    def unsaved(self) -> bytes:
        return _swapped(self.entries[self.saved :].tobytes()).tobytes()


def _position(entry: int) -> int:
    return entry & _POSITION_MASK


def _swapped(data: Bytes) -> "array[int]":
    entries = array("Q")
    entries.frombytes(data)
    if _IS_LITTLE:
        entries.byteswap()
    return entries
