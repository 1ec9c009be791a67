"""What is remembered of a share partition's records: batches of equal ones, side by side.

What is written later does not always come later: a leader's writes may be tried again. Of two
that speak of the same record the one counts in which it was delivered more often, and of those
the one whose state is further on. So it does not matter in which order they come, nor whether
one of them comes twice.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from kafkapy.share.states import RecordState, StateBatch


def combined(
    known: Sequence[StateBatch], news: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """In order, without overlaps, and nothing below `start_offset`."""
    batches = [one for one in (*known, *news) if one.last_offset >= start_offset]
    borders = sorted(
        {max(one.first_offset, start_offset) for one in batches}
        | {one.last_offset + 1 for one in batches}
    )
    opening = sorted(batches, key=lambda one: one.first_offset)
    open_now: list[StateBatch] = []
    found: list[StateBatch] = []
    at = 0
    for first, until in pairwise(borders):
        while at < len(opening) and opening[at].first_offset <= first:
            open_now.append(opening[at])
            at += 1
        open_now = [one for one in open_now if one.last_offset >= first]
        if open_now:
            best = max(open_now, key=_rank)
            _add(found, StateBatch(first, until - 1, best.state, best.delivery_count))
    return tuple(found)


def _rank(batch: StateBatch) -> tuple[int, RecordState]:
    return batch.delivery_count, batch.state


def _add(found: list[StateBatch], batch: StateBatch) -> None:
    if found:
        last = found[-1]
        if last.last_offset + 1 == batch.first_offset and _rank(last) == _rank(batch):
            found[-1] = last._replace(last_offset=batch.last_offset)
            return
    found.append(batch)
