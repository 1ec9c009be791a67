"""The sparse index from offsets to positions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.log.segments.offset_index import OffsetIndex

BASE = 1_000_000_000_000


def _index(*entries: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex(BASE)
    for offset, position in entries:
        index.append(BASE + offset, position)
    return index


def test_an_entry_is_two_32_bit_numbers() -> None:
    assert _index((7, 4200), (300, 2**31 - 1)).unsaved().hex() == "00000007000010680000012c7fffffff"


def test_a_lookup_leads_to_the_last_entry_not_behind_the_offset() -> None:
    index = _index((9, 100), (19, 200))
    assert [index.lookup(BASE + at) for at in (-5, 0, 8, 9, 10, 18, 19, 99)] == [
        0,
        0,
        0,
        100,
        100,
        100,
        200,
        200,
    ]


def test_an_empty_index_leads_to_the_beginning() -> None:
    assert _index().lookup(BASE + 5) == 0


def test_truncation_forgets_what_is_at_the_offset_or_above() -> None:
    index = _index((9, 100), (19, 200), (29, 300))
    index.saved = 3
    index.truncate(BASE + 19)
    assert (len(index), index.saved, index[0]) == (1, 1, (BASE + 9, 100))
    index.truncate(BASE - 1)
    assert len(index) == 0


def test_only_what_is_new_is_saved() -> None:
    index = _index((9, 100))
    index.saved = 1
    index.append(BASE + 19, 200)
    assert index.unsaved() == _index((19, 200)).unsaved()


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 5000)), max_size=50))
def test_it_reads_back_as_it_was_written(steps: list[tuple[int, int]]) -> None:
    index, offset, position = OffsetIndex(BASE), BASE, 0
    for more_offset, more_position in steps:
        offset, position = offset + more_offset, position + more_position
        index.append(offset, position)
    again = OffsetIndex(BASE, index.unsaved(), position + 1)
    assert [again[i] for i in range(len(again))] == [index[i] for i in range(len(index))]
    assert again.saved == len(again)


@pytest.mark.parametrize(
    "data",
    [
        bytes(7),
        _index((9, 100), (19, 200)).unsaved() + bytes(8),
        bytes(16),
        _index((9, 500)).unsaved(),
    ],
)
def test_what_cannot_be_an_index_of_the_log_is_corrupt(data: bytes) -> None:
    """Odd sizes, the zeros of a file that was not trimmed, positions behind the end."""
    with pytest.raises(Corrupt):
        OffsetIndex(BASE, data, 500)
