"""Many partitions as they were when they were asked for, to be gone through some at a time.

    topics   A       B       C
    bits     0b1011  0b0100  0b0001     partitions 0, 1 and 3 of A, 2 of B, 0 of C
                     ^ a cursor: the topic's position, and a partition of it

Numbers do not change, so a hundred thousand partitions are kept by copying a number for each
topic, and nobody pays for all of them at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final
from uuid import UUID

Place = tuple[UUID, int]
Cursor = tuple[int, int]

START: Final[Cursor] = (0, 0)


class Places:
    """In order. A topic may come more than once, with other partitions of it."""

    __slots__ = ("_bits", "_topics")

    def __init__(self, *sets: Mapping[UUID, int]) -> None:
        self._topics = tuple(chain.from_iterable(sets))
        self._bits = tuple(chain.from_iterable(one.values() for one in sets))

    @classmethod
    def of(cls, places: Iterable[Place]) -> "Places":
        bits: dict[UUID, int] = {}
        for topic, index in places:
            bits[topic] = bits.get(topic, 0) | 1 << index
        return cls(bits)

    def __iter__(self) -> Iterator[Place]:
        for topic, bits in zip(self._topics, self._bits, strict=True):
            for index in _indexes(bits):
                yield topic, index

    def is_more_than(self, count: int) -> bool:
        # Each of these topics has at least one, so this looks at `count` of them at most.
        for bits in self._bits:
            count -= bits.bit_count()
            if count < 0:
                return True
        return False

    def from_cursor(self, cursor: Cursor, count: int) -> tuple[list[Place], Cursor]:
        """The next ones, and where it goes on."""
        found: list[Place] = []
        at, first = cursor
        while at < len(self._topics) and len(found) < count:
            topic = self._topics[at]
            for index in _indexes(self._bits[at] >> first << first):
                if len(found) == count:
                    return found, (at, index)
                found.append((topic, index))
            at, first = at + 1, 0
        return found, (at, first)

    def is_end(self, cursor: Cursor) -> bool:
        return cursor[0] >= len(self._topics)


def _indexes(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
