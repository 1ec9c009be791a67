"""The .txnindex: Kafka's bytes, and which aborted transactions a fetch is told of."""

import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.log.segments.transaction_index import (
    ENTRY_SIZE,
    AbortedTransaction,
    collect_aborted,
    count_below,
    decode_entries,
    encode_entry,
)

COMPACTION = Path(__file__).parents[2] / "fixtures" / "compaction"


def test_kafkas_entries_are_read_and_written_byte_for_byte() -> None:
    with zipfile.ZipFile(COMPACTION / "before.zip") as archive:
        for base in (36, 126):
            data = archive.read(f"{base:020d}.txnindex")
            entries = decode_entries(data, base)
            assert b"".join(map(encode_entry, entries)) == data
            assert len(entries) == 1


def test_an_entry_takes_34_bytes() -> None:
    raw = encode_entry(AbortedTransaction(1, 2, 3, 4))
    assert len(raw) == ENTRY_SIZE == 34
    assert raw.hex() == "0000" + "".join(f"{n:016x}" for n in (1, 2, 3, 4))


@pytest.mark.parametrize(
    "data",
    [
        b"x",
        encode_entry(AbortedTransaction(1, 2, 3, 4))[:-1],
        b"\x00\x01" + encode_entry(AbortedTransaction(1, 20, 30, 40))[2:],
        encode_entry(AbortedTransaction(1, 2, 9, 4)),
    ],
)
def test_what_cannot_be_an_index_is_corrupt(data: bytes) -> None:
    with pytest.raises(Corrupt):
        decode_entries(data, 10)


def test_truncating_keeps_what_ended_before() -> None:
    entries = [AbortedTransaction(1, 0, 10, 11), AbortedTransaction(2, 5, 20, 21)]
    assert [count_below(entries, offset) for offset in (10, 11, 20, 21)] == [0, 1, 1, 2]


class History:
    """Transactions on a line of offsets, some open at once, and their index entries."""

    def __init__(self, steps: list[tuple[int, bool]]) -> None:
        self.entries: list[AbortedTransaction] = []
        open_since: dict[int, int] = {}
        for offset, (producer_id, ends) in enumerate(steps):
            if ends and producer_id in open_since:
                first = open_since.pop(producer_id)
                stable = min(open_since.values(), default=offset + 1)
                self.entries.append(AbortedTransaction(producer_id, first, offset, stable))
            elif not ends:
                open_since.setdefault(producer_id, offset)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(1, 5),
)
@settings(max_examples=150)
def test_a_search_finds_what_looking_at_all_entries_finds(
    steps: list[tuple[int, bool]], first: int, length: int, per_segment: int
) -> None:
    """For bounds a fetch can have: it never goes beyond the last stable offset."""
    entries = History(steps).entries
    upper = first + length
    segments = [
        entries[index : index + per_segment] for index in range(0, len(entries), per_segment)
    ]
    expected = [e for e in entries if e.last_offset >= first and e.first_offset < upper]
    assert collect_aborted(segments, first, upper) == expected
