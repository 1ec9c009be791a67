"""Records for a page: the newest, or those from somewhere on; within bounds.

    newest    windows that go back from `until`, partition by partition, until there are enough
    onwards   answers that follow one another from `at` on

Both end early when they have read as much as one page may cost, and say where to go on: a place in
each partition. So a filter over millions of records is pages, and none of them takes long.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import trio

from kafkapy.http.console.filters import Filter
from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.batches.records import Record

MOST_PARTITIONS: Final = 50
_MOST_BYTES: Final = 16 * 1024 * 1024
_MOST_SECONDS: Final = 5.0
_FETCH_BYTES: Final = 512 * 1024
# How far a filter goes back at a time; without one, no further than is shown. And how far at first,
# as long as nobody knows how large these records are.
_FILTER_STEP: Final = 500
_FIRST_STEP: Final = 20
_STEP_BYTES: Final = 2 * 1024 * 1024

Places = Mapping[int, int]


class Found(NamedTuple):
    partition: int
    record: Record


class Read(NamedTuple):
    """`go_on`: where each partition is read further; empty at the end. `is_early`: more could
    have been found, but not within what a page may cost."""

    rows: list[Found]
    go_on: dict[int, int]
    seen: int
    is_early: bool


class _Budget:
    def __init__(self) -> None:
        self.bytes = _MOST_BYTES
        self.deadline = trio.current_time() + _MOST_SECONDS
        self.seen = 0

    @property
    def is_left(self) -> bool:
        return self.bytes > 0 and trio.current_time() < self.deadline

    def step(self, most: int) -> int:
        """How many offsets to read at once, by what records have been like so far."""
        if not self.seen:
            return min(most, _FIRST_STEP)
        average = (_MOST_BYTES - self.bytes) / self.seen
        return max(1, min(most, int(_STEP_BYTES / average)))

    def took(self, record: Record) -> None:
        self.seen += 1
        self.bytes -= len(record.key or b"") + len(record.value or b"") + 64


async def newest(
    kafka: Kafka,
    topic: str,
    starts: Places,
    until: Places,
    limit: int,
    wanted: Filter,
    *,
    committed: bool = True,
) -> Read:
    """The newest first."""
    places = {one: until[one] for one in until if one in starts and until[one] > starts[one]}
    budget, rows = _Budget(), list[Found]()
    # None of the partitions is left out, however few rows there are.
    limit = max(limit, len(places))
    is_any = wanted.is_any and not kafka.is_view(topic)
    most = limit // max(1, len(places)) if is_any else _FILTER_STEP
    while places and len(rows) < limit and budget.is_left:
        for partition in list(places):
            if len(rows) >= limit or not budget.is_left:
                break
            high = places[partition]
            low = max(starts[partition], high - budget.step(most))
            found = await _window(kafka, topic, partition, (low, high), budget, wanted, committed)
            taken = found[-(limit - len(rows)) :]
            rows += (Found(partition, one) for one in taken)
            if len(taken) < len(found):
                places[partition] = taken[0].offset
            elif low > starts[partition]:
                places[partition] = low
            else:
                del places[partition]
    rows.sort(key=lambda one: (one.record.timestamp, one.record.offset), reverse=True)
    return Read(rows, places, budget.seen, bool(places) and len(rows) < limit)


async def _window(
    kafka: Kafka,
    topic: str,
    partition: int,
    window: tuple[int, int],
    budget: _Budget,
    wanted: Filter,
    committed: bool,
) -> list[Record]:
    """All that is wanted of a window, however large: what is newest in it comes last."""
    position, high = window
    found: list[Record] = []
    while position < high:
        answer = await records.fetch(
            kafka, topic, partition, position, max_bytes=_FETCH_BYTES, committed=committed
        )
        for one in answer.records:
            if one.offset >= high:
                break
            budget.took(one)
            if wanted.wants(partition, one):
                found.append(one)
        if answer.next_offset <= position:
            break
        position = answer.next_offset
    return found


async def onwards(
    kafka: Kafka,
    topic: str,
    at: Places,
    limit: int,
    wanted: Filter,
    *,
    committed: bool = True,
) -> Read:
    """The oldest first, partitions in turn; `go_on` has all of them, read or not."""
    places, budget, rows = dict(at), _Budget(), list[Found]()
    behind = set(places)
    share = -(-limit // max(1, len(places)))
    while behind and len(rows) < limit and budget.is_left:
        for partition in sorted(behind):
            if len(rows) >= limit or not budget.is_left:
                break
            answer = await records.fetch(
                kafka,
                topic,
                partition,
                places[partition],
                max_bytes=_FETCH_BYTES,
                committed=committed,
            )
            before, count = places[partition], 0
            most = min(share, limit - len(rows)) if wanted.is_any else limit - len(rows)
            places[partition] = max(before, answer.next_offset)
            for one in answer.records:
                if count == most:
                    places[partition] = one.offset
                    break
                budget.took(one)
                if wanted.wants(partition, one):
                    rows.append(Found(partition, one))
                    count += 1
            if places[partition] == before:
                behind.discard(partition)
    rows.sort(key=lambda one: (one.record.timestamp, one.partition, one.record.offset))
    return Read(rows, places if behind else {}, budget.seen, bool(behind) and len(rows) < limit)


def written(places: Places) -> str:
    """For an address: 0.120-3.44 is offset 120 of partition 0 and 44 of partition 3."""
    return "-".join(f"{one}.{places[one]}" for one in sorted(places))


def places_of(text: str) -> dict[int, int]:
    """ValueError for what is none."""
    found = {}
    for part in text.split("-") if text else ():
        partition, _, offset = part.partition(".")
        found[int(partition)] = int(offset)
    if len(found) > MOST_PARTITIONS or any(one < 0 for one in found.values()):
        raise ValueError("more than a page can have")
    return found
