"""Entries in due order, in bounded memory, without what was cancelled: as a plain list has it."""

import sys
from random import Random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.relays.progress import NOTHING, entry_of
from kafkapy.relays.waiting import Waiting


class Add(NamedTuple):
    due: int
    key: int


class Cancel(NamedTuple):
    key: int


class Take(NamedTuple):
    most: int
    before: int


KEYS = [
    b"",
    b"k",
    b"k\0",
    *(b"%015d" % one for one in range(9)),
    *(b"%016d" % one for one in range(9)),
]
ACTIONS = st.lists(
    st.one_of(
        st.builds(Add, st.integers(0, 30), st.integers(-1, len(KEYS) - 1)),
        st.builds(Cancel, st.integers(0, len(KEYS) - 1)),
        st.builds(Take, st.integers(1, 6), st.integers(0, 40)),
    ),
    min_size=20,
    max_size=200,
)


@settings(max_examples=150, deadline=None)
@given(actions=ACTIONS, joins=st.booleans(), at=st.integers(0, 200))
def test_what_is_due_comes_in_order_and_nothing_that_was_cancelled(
    actions: list[Add | Cancel | Take], joins: bool, at: int
) -> None:
    """As a list that is sorted; with `joins` the first ones are those that a pass found."""
    waiting, model = Waiting(8), dict[int, int]()
    waiting._most = 1_000  # chunks of two entries, and none is forgotten
    for offset, action in enumerate(actions):
        if joins and offset == min(at, len(actions) - 1):
            other = Waiting(1_000)
            other.horizon = NOTHING
            other.join(waiting)
            waiting = other
        match action:
            case Add(due, key):
                model[entry_of(due, offset)] = key
                waiting.add(entry_of(due, offset), None if key < 0 else KEYS[key])
            case Cancel(key):
                model = {entry: one for entry, one in model.items() if one != key}
                waiting.cancel(KEYS[key], offset)
            case Take(most, before):
                end = entry_of(before, 0)
                whole = sorted(entry for entry in model if entry < end)
                expected = whole[:most]
                assert waiting.soonest(most, end) == expected
                for place, entry in enumerate(expected):
                    assert waiting.soonest(1, end, entry) == whole[place + 1 : place + 2]
                for entry in expected:
                    waiting.gone(entry)
                    del model[entry]
        assert waiting.first() == min(model, default=None)
        assert len(waiting) >= len(model)
    assert waiting.soonest(len(actions), entry_of(100, 0)) == sorted(model)
    assert len(waiting) == len(model)


def test_what_was_cancelled_is_remembered_until_every_chunk_was_swept() -> None:
    waiting, chance = Waiting(10_000), Random(1)
    for offset in range(10_000):
        waiting.add(entry_of(chance.randrange(1 << 40), offset), b"%d" % offset)
    chunks = len(waiting._chunks)
    for offset in range(10_000):
        waiting.cancel(b"%d" % offset, 20_000 + offset)
        assert len(waiting._cancelled._found) <= 2 * chunks + 2
    assert waiting.first() is None
    assert len(waiting) == 0


def test_an_entry_takes_some_forty_bytes() -> None:
    """What docs/RELAYS.md says; the numbers of all chunks, with what Python keeps in reserve."""
    waiting, chance = Waiting(50_000), Random(1)
    for offset in range(50_000):
        waiting.add(
            entry_of(chance.randrange(1 << 40), offset), b"a key of some length %d" % offset
        )
    size = sum(
        sys.getsizeof(part) + sys.getsizeof(first)
        for chunk, first in zip(waiting._chunks, waiting._firsts, strict=True)
        for part in (chunk._dues, chunk._offsets, chunk._identities)
    )
    assert 32 <= size / len(waiting) < 45
