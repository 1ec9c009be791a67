"""The sparse index from timestamps to offsets."""

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.log.segments.time_index import NO_TIMESTAMP, TimeIndex

BASE = 1_000_000_000_000


def _index(*entries: tuple[int, int]) -> TimeIndex:
    index = TimeIndex(BASE)
    for timestamp, offset in entries:
        index.append(timestamp, BASE + offset)
    return index


def test_an_entry_is_a_timestamp_and_a_relative_offset() -> None:
    assert _index((1_700_000_000_000, 7)).unsaved().hex() == "0000018bcfe5680000000007"


def test_only_a_newer_timestamp_makes_an_entry() -> None:
    index = _index((100, 5), (100, 9), (99, 12), (101, 15))
    assert [index[i] for i in range(len(index))] == [(100, BASE + 5), (101, BASE + 15)]


def test_without_timestamps_there_are_no_entries() -> None:
    index = _index((NO_TIMESTAMP, 5))
    assert (len(index), index.last) == (0, (NO_TIMESTAMP, BASE))


def test_a_lookup_leads_to_the_last_entry_that_is_not_newer() -> None:
    index = _index((100, 5), (200, 9))
    assert [index.lookup(at) - BASE for at in (0, 99, 100, 199, 200, 999)] == [0, 0, 5, 5, 9, 9]


def test_truncation_forgets_what_is_at_the_offset_or_above() -> None:
    index = _index((100, 5), (200, 9), (300, 20))
    index.saved = 3
    index.truncate(BASE + 9)
    assert (len(index), index.saved, index.last) == (1, 1, (100, BASE + 5))


def test_it_reads_back_as_it_was_written() -> None:
    index = _index((100, 5), (200, 9))
    again = TimeIndex(BASE, index.unsaved())
    assert (again[0], again[1], again.saved) == (index[0], index[1], 2)
    again.append(300, BASE + 11)
    assert again.unsaved() == _index((300, 11)).unsaved()


@pytest.mark.parametrize("data", [bytes(11), bytes(24), _index((100, 5)).unsaved() + bytes(12)])
def test_what_cannot_be_an_index_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        TimeIndex(BASE, data)
