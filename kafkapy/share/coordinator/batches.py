"""What is remembered of a share partition's records: batches of equal ones, side by side.

What is written later does not always come later: a leader's writes may be tried again. Of two
that speak of the same record the one counts in which it was delivered more often, and of those
the one whose state is further on. So it does not matter in which order they come, nor whether
one of them comes twice.

A first record that takes long has everything behind it remembered. So that this does not grow
without end, of very many batches those that are over lie together, however they came to be so.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import pairwise
from operator import attrgetter
from typing import Final

from kafkapy.share.states import RecordState, StateBatch

# 20 KB as they are written; a message may have a megabyte.
MANY: Final = 1_000

_first = attrgetter("first_offset")
_last = attrgetter("last_offset")


def combined(
    known: Sequence[StateBatch], news: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """In order, without overlaps, and nothing below `start_offset`. `known` is so already, but
    for where it begins."""
    fresh = [one for one in news if start_offset <= one.last_offset >= one.first_offset]
    if known and known[0].first_offset < start_offset:
        known = known[bisect_left(known, start_offset, key=_last) :]
        if known:
            first = max(known[0].first_offset, start_offset)
            known = (known[0]._replace(first_offset=first), *known[1:])
    if not fresh:
        return tuple(known)
    # Only what is touched is looked at, with a neighbour on either side.
    at = bisect_left(known, min(map(_first, fresh)) - 1, key=_last)
    until = bisect_right(known, max(map(_last, fresh)) + 1, key=_first)
    swept = _swept([*known[at:until], *fresh], start_offset)
    found = (*known[:at], *swept, *known[until:])
    return found if len(found) <= MANY else _squeezed(found)


def _swept(batches: Sequence[StateBatch], start_offset: int) -> list[StateBatch]:
    opening = sorted(batches, key=_first)
    if all(one.last_offset < other.first_offset for one, other in pairwise(opening)):
        # Nearly always: what is written speaks of records that nothing was written about.
        side_by_side: list[StateBatch] = []
        for one in opening:
            first = max(one.first_offset, start_offset)
            _add(side_by_side, one._replace(first_offset=first) if first > one[0] else one)
        return side_by_side
    borders = sorted(
        {max(one.first_offset, start_offset) for one in batches}
        | {one.last_offset + 1 for one in batches}
    )
    # What is open, the one that counts first; some of it has ended already.
    open_now: list[tuple[int, int, int]] = []
    found: list[StateBatch] = []
    at = 0
    for first, until in pairwise(borders):
        while at < len(opening) and opening[at].first_offset <= first:
            one = opening[at]
            heappush(open_now, (-one.delivery_count, -one.state, one.last_offset))
            at += 1
        while open_now and open_now[0][2] < first:
            heappop(open_now)
        if open_now:
            count, state, _ = open_now[0]
            _add(found, StateBatch(first, until - 1, RecordState(-state), -count))
    return found


def _squeezed(batches: Sequence[StateBatch]) -> tuple[StateBatch, ...]:
    """Neighbours that are over are one. It counts as delivered as often as any of them was, or
    what was written earlier about some other would count again."""
    found: list[StateBatch] = []
    for batch in batches:
        last = found[-1] if found else None
        if (
            last is not None
            and last.last_offset + 1 == batch.first_offset
            and last.state.is_terminal
            and batch.state.is_terminal
        ):
            state = max(last.state, batch.state)
            count = max(last.delivery_count, batch.delivery_count)
            found[-1] = StateBatch(last.first_offset, batch.last_offset, state, count)
        else:
            found.append(batch)
    return tuple(found)


def _add(found: list[StateBatch], batch: StateBatch) -> None:
    if found:
        last = found[-1]
        if (
            last.last_offset + 1 == batch.first_offset
            and last.delivery_count == batch.delivery_count
            and last.state is batch.state
        ):
            found[-1] = last._replace(last_offset=batch.last_offset)
            return
    found.append(batch)
