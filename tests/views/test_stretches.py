"""What is remembered of a view: taken by offset, forgotten by use, dropped with its log."""

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.protocol.batches.batch import read_header
from kafkapy.views.memory import Memory
from kafkapy.views.stretches import Piece, Stretches

ENDLESS = 2**60


class Source:
    """Pieces of 1 to 4 offsets, some of which show something, in segments of ten offsets."""

    def __init__(self, lengths: list[tuple[int, int, bool]]) -> None:
        self.pieces: list[Piece] = []
        offset = 0
        for length, size, is_control in lengths:
            data = bytes(size) if size else None
            self.pieces.append(Piece(offset, offset + length, 1, data, is_control and size > 0))
            offset += length
        self.end = offset
        self.segments = [object() for _ in range(offset // 10 + 1)]

    def origin_of(self, offset: int) -> object:
        return self.segments[offset // 10]


SOURCES = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([0, 0, 0, 50, 30_000]), st.booleans()),
    min_size=1,
    max_size=30,
).map(Source)


@given(SOURCES, st.data())
def test_what_is_taken_is_what_the_source_shows(source: Source, data: st.DataObject) -> None:
    """Known in any order, some of it forgotten, segments cleaned now and then."""
    memory = Memory(data.draw(st.sampled_from([10_000, 100_000, ENDLESS])))
    known = Stretches(memory, source.origin_of)
    for _ in range(data.draw(st.integers(1, 12))):
        offset = data.draw(st.integers(0, source.end - 1))
        upper = data.draw(st.sampled_from([source.end, *(one.end for one in source.pieces)]))
        limit = data.draw(st.sampled_from([1, 100, 40_000, ENDLESS]))
        first = next(one for one in source.pieces if one.first <= offset < one.end)
        action = data.draw(st.sampled_from(["learn", "take", "clean"]))
        if action == "learn":
            at = source.pieces.index(first)
            for piece in source.pieces[at : at + data.draw(st.integers(1, 9))]:
                if known.end_of_known(piece.first) == piece.first:
                    known.add(piece, source.origin_of(piece.end - 1))
        elif action == "clean":
            source.segments[offset // 10] = object()
        elif offset < upper:
            check(source, known, offset, upper, limit)
        assert memory.used_bytes <= memory.most_bytes


def check(source: Source, known: Stretches, offset: int, upper: int, limit: int) -> None:
    taken = known.take(offset, upper, limit, at_least_one=True)
    assert offset <= taken.reached <= upper
    reached = taken.reached
    passed = [one for one in source.pieces if offset < one.end and one.first < reached > offset]
    shown = [one.data for one in passed if one.data is not None]
    batches = taken.batches
    if passed and passed[-1].data is None:
        assert read_header(batches[-1]).next_offset == reached
        batches = batches[:-1]
    assert batches == shown
    has_records = any(one.data is not None and not one.is_control for one in passed)
    assert taken.size == (sum(map(len, shown)) if has_records else 0)
    assert len(shown) <= 1 or sum(map(len, shown)) <= limit


def test_a_fetch_that_has_something_already_gets_no_more_than_fits() -> None:
    known = Stretches(Memory(ENDLESS), lambda offset: 0)
    known.add(Piece(0, 5, 1, bytes(100)), 0)
    assert known.take(0, 5, 99, at_least_one=False) == ([], 0, 0)
    assert known.take(0, 5, 99, at_least_one=True) == ([bytes(100)], 100, 5)
    assert known.take(2, 5, 100, at_least_one=False) == ([bytes(100)], 100, 5)


def test_nothing_shown_over_a_million_batches_takes_no_memory() -> None:
    memory = Memory(ENDLESS)
    known = Stretches(memory, lambda offset: 0)
    known.add(Piece(0, 10, 1, None), 0)
    used = memory.used_bytes
    for first in range(10, 10_000, 10):
        known.add(Piece(first, first + 10, 1, None), 0)
    assert memory.used_bytes == used
    assert (
        read_header(known.take(7, ENDLESS, 1, at_least_one=True).batches[0]).next_offset == 10_000
    )


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    memory = Memory(3 * 70_000)
    known = Stretches(memory, lambda offset: offset // 10)
    for number in range(3):
        known.add(Piece(number * 10, number * 10 + 10, 1, bytes(65_000)), number)
    known.take(0, 10, ENDLESS, at_least_one=True)
    known.add(Piece(30, 40, 1, bytes(65_000)), 3)
    assert known.end_of_known(0) == 10
    assert known.end_of_known(10) == 10
    assert known.end_of_known(20) == 40
    known.clear()
    assert (len(memory), memory.used_bytes) == (0, 0)
