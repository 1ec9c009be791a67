"""Long lists, a page at a time; `page` counts from 1."""

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from kafkapy.http.console.asked import Asked

T = TypeVar("T")
PAGE_ROWS: Final = 50


class Part(NamedTuple, Generic[T]):
    rows: Sequence[T]
    total: int
    first: int
    previous: str | None
    next: str | None

    @property
    def last(self) -> int:
        return self.first + len(self.rows) - 1


def part_of(asked: Asked, rows: Sequence[T], size: int = PAGE_ROWS) -> Part[T]:
    most = max(1, -(-len(rows) // size))
    page = min(asked.number("page", 1, 1), most)
    start = (page - 1) * size
    return Part(
        rows[start : start + size],
        len(rows),
        start + 1,
        asked.link(page=page - 1) if page > 1 else None,
        asked.link(page=page + 1) if page < most else None,
    )
