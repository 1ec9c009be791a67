"""Whole records out of pieces, however the pieces are cut."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.batches.records import NewRecord, encode, starts
from kafkapy.protocol.batches.windows import HEAD_BYTES, Large, More, Whole, windows

SIZES = st.lists(st.integers(0, 300), min_size=1, max_size=20)


def _payload(sizes: list[int]) -> bytes:
    return encode([NewRecord(None, bytes(size), 5) for size in sizes], 0)


@given(sizes=SIZES, cut=st.integers(1, 400), large=st.integers(40, 400))
def test_every_record_comes_once_and_whole_or_as_a_large_one(
    sizes: list[int], cut: int, large: int
) -> None:
    payload = _payload(sizes)
    pieces = [payload[at : at + cut] for at in range(0, len(payload), cut)]
    records = 0
    rebuilt = bytearray()
    left = 0
    for window in windows(iter(pieces), large_bytes=large):
        match window:
            case Whole(data, count):
                assert not left
                assert len(starts(data, count)) == count > 0
                records += count
                rebuilt += data
            case Large(data, length):
                assert not left
                assert HEAD_BYTES - 5 <= len(data) < length
                assert length > large - 5
                left = length - len(data)
                rebuilt += payload[len(rebuilt) : payload.index(data, len(rebuilt))]
                rebuilt += data
                records += 1
            case More(data):
                left -= len(data)
                rebuilt += data
    assert left == 0
    assert records == len(sizes)
    assert bytes(rebuilt) == payload


@given(sizes=SIZES, lost=st.integers(1, 6), large=st.sampled_from([40, 10_000]))
def test_a_last_record_that_does_not_end_is_corrupt(
    sizes: list[int], lost: int, large: int
) -> None:
    payload = _payload(sizes)[:-lost]
    with pytest.raises(Corrupt):
        list(windows(iter([payload]), large_bytes=large))


def test_a_large_record_is_not_kept() -> None:
    payload = _payload([1_000_000])
    pieces = [payload[at : at + 1000] for at in range(0, len(payload), 1000)]
    longest = max(len(window.data) for window in windows(iter(pieces), large_bytes=5000))
    assert longest <= 1000


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_only_corrupt_comes_of_nonsense(pieces: list[bytes]) -> None:
    with suppress(Corrupt):
        list(windows(iter(pieces), large_bytes=30))
