import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.varint import read_uvarint, skip_tags, uvarint


@given(st.integers(0, 2**31 - 1), st.binary(max_size=3), st.binary(max_size=3))
def test_what_is_written_is_read_back(value: int, before: bytes, behind: bytes) -> None:
    raw = before + uvarint(value) + behind
    assert read_uvarint(raw, len(before)) == (value, len(raw) - len(behind))
    assert read_uvarint(memoryview(raw), len(before)) == (value, len(raw) - len(behind))


@pytest.mark.parametrize(
    ("value", "raw"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**31 - 1, "ffffffff07")],
)
def test_bytes_are_kafkas(value: int, raw: str) -> None:
    assert uvarint(value).hex() == raw


def test_a_longer_form_than_needed_is_read_as_kafka_reads_it() -> None:
    assert read_uvarint(b"\x81\x80\x80\x80\x00", 0) == (1, 5)


@pytest.mark.parametrize("raw", ["", "80", "ffff", "ffffffff", "ffffffff08", "808080808000"])
def test_what_ends_early_or_never_or_is_too_large_is_corrupt(raw: str) -> None:
    with pytest.raises(Corrupt):
        read_uvarint(bytes.fromhex(raw), 0)


def test_tags_are_skipped() -> None:
    raw = b"\x02" + b"\x00\x01a" + b"\x90\x01\x00" + b"behind"
    assert skip_tags(raw, 0) == len(raw) - len(b"behind")


@pytest.mark.parametrize("raw", ["", "01", "010003aabb", "ffffffff0700", "0200"])
def test_tags_that_are_cut_short_are_corrupt(raw: str) -> None:
    with pytest.raises(Corrupt):
        skip_tags(bytes.fromhex(raw), 0)
