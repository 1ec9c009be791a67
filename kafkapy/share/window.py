"""The records of a share partition that are under way, as runs of equal ones.

     start                                        end
       | done | held by a | available | done | held by b |   what nobody has had yet ...

The runs lie side by side from `start` to `end` without holes, so every offset is in exactly one
of them. A run is cut where something happens to a part of it and joined to its neighbours when
nothing tells them apart any more, and nobody asks how a record came to be over. So there are
never many more runs than records under way, however long the first of them takes.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from kafkapy.core.data import dataclass
from kafkapy.core.time import NEVER, Instant
from kafkapy.share.states import RecordState

_first = attrgetter("first")


@dataclass(slots=True, eq=False)
class Change:
    """Runs on their way to another state: they are there once the coordinator has it written."""

    first: int
    last: int


@dataclass(slots=True, eq=False)
class Run:
    """`last` is included. `change` is under way to `next_state`; until then nobody may touch it."""

    first: int
    last: int
    state: RecordState
    delivery_count: int = 0
    member_id: str = ""
    locked_until: Instant = NEVER
    change: Change | None = None
    next_state: RecordState = RecordState.AVAILABLE
    # Why it is on its way to the dead letters: somebody said so, or it came too often.
    is_rejected: bool = False

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def is_available(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.change is None

    @property
    def is_over(self) -> bool:
        return self.state.is_terminal and self.change is None

    def is_like(self, other: "Run") -> bool:
        """Over is over: how often it was delivered, and what was said of it, is written."""
        if self.change is not other.change:
            return False
        if self.change is None and self.state.is_terminal and other.state.is_terminal:
            return True
        return (
            self.next_state is other.next_state
            and self.state is other.state
            and self.delivery_count == other.delivery_count
            and self.member_id == other.member_id
            and self.locked_until == other.locked_until
            and self.is_rejected == other.is_rejected
        )

    def part(self, first: int, last: int) -> "Run":
        return Run(
            first,
            last,
            self.state,
            self.delivery_count,
            self.member_id,
            self.locked_until,
            self.change,
            self.next_state,
            self.is_rejected,
        )


class Window:
    __slots__ = ("_runs", "end", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self._runs: list[Run] = []

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        """Runs, not records."""
        return len(self._runs)

    def append(self, last: int, state: RecordState, delivery_count: int = 0) -> Run:
        """What follows on `end`, up to `last`."""
        assert last >= self.end, (last, self.end)
        run = Run(self.end, last, state, delivery_count)
        self._runs.append(run)
        self.end = last + 1
        return run

    def between(self, first: int, last: int) -> list[Run]:
        """The runs that touch what is in the window of `first` to `last`."""
        if last < self.start or first >= self.end or first > last:
            return []
        at = max(0, bisect_right(self._runs, first, key=_first) - 1)
        until = bisect_right(self._runs, last, key=_first)
        return self._runs[at:until]

    def cut(self, first: int, last: int) -> list[Run]:
        """The same, cut so that none of them reaches beyond."""
        self._cut_before(first)
        self._cut_before(last + 1)
        return self.between(first, last)

    def cut_at(self, offsets: Sequence[int]) -> None:
        """Runs begin at all of these, which are in order. One by one each cut would move
        whatever lies behind it."""
        within = [one for one in offsets if self.start < one < self.end]
        if not within:
            return
        at = bisect_right(self._runs, within[0], key=_first) - 1
        until = bisect_right(self._runs, within[-1], key=_first)
        found: list[Run] = []
        borders = iter(within)
        border: int | None = next(borders)
        for run in self._runs[at:until]:
            rest = run
            while border is not None and border <= rest.last:
                if border > rest.first:
                    found.append(rest)
                    behind = rest.part(border, rest.last)
                    rest.last = border - 1
                    rest = behind
                border = next(borders, None)
            found.append(rest)
        self._runs[at:until] = found

    def join(self, first: int, last: int) -> None:
        """Runs that nothing tells apart are one, from the one before `first` to the one
        behind `last`."""
        runs = self._runs
        at = max(0, bisect_right(runs, first, key=_first) - 2)
        until = min(len(runs), bisect_right(runs, last, key=_first) + 1)
        joined: list[Run] = []
        for run in runs[at:until]:
            if joined and joined[-1].is_like(run):
                joined[-1].last = run.last
            else:
                joined.append(run)
        if len(joined) < until - at:
            runs[at:until] = joined

    def drop_finished(self) -> None:
        """`start` moves over what is over."""
        over = 0
        for run in self._runs:
            if not run.is_over:
                break
            over += 1
        if over:
            self.start = self._runs[over - 1].last + 1
            del self._runs[:over]

    def begin_at(self, offset: int) -> None:
        """Whatever is below is gone."""
        if offset <= self.start:
            return
        if offset >= self.end:
            self._runs.clear()
            self.start = self.end = offset
            return
        self._cut_before(offset)
        del self._runs[: bisect_right(self._runs, offset - 1, key=_first)]
        self.start = offset

    def _cut_before(self, offset: int) -> None:
        if not self.start < offset < self.end:
            return
        at = bisect_right(self._runs, offset, key=_first) - 1
        run = self._runs[at]
        if run.first != offset:
            self._runs.insert(at + 1, run.part(offset, run.last))
            run.last = offset - 1
