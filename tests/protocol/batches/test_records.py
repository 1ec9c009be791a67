"""Records inside a batch: varints, walking, what is refused."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.batches.records import (
    NewRecord,
    encode,
    encode_record,
    has_keyless,
    read_varint,
    starts,
    walk,
    walk_keys,
    write_varint,
)

INT64 = st.integers(-(2**63), 2**63 - 1)
MAYBE = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        key=MAYBE,
        value=MAYBE,
        timestamp=st.integers(-1, 2**45),
        headers=st.lists(st.tuples(st.text(max_size=5), MAYBE), max_size=3).map(tuple),
    ),
    max_size=20,
)


@given(INT64)
def test_varints_of_64_bits_come_back(value: int) -> None:
    raw = write_varint(value)
    assert read_varint(raw, 0, 10) == (value, len(raw))


@pytest.mark.parametrize(
    ("value", "raw"),
    [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (-65, "8101"), (8192, "808001")],
)
def test_small_varints_are_zigzagged(value: int, raw: str) -> None:
    assert write_varint(value).hex() == raw


def test_a_varint_that_does_not_end_is_corrupt() -> None:
    for raw in (b"", b"\x80", b"\xff" * 5, b"\xff" * 20):
        with pytest.raises(Corrupt):
            read_varint(raw, 0)


@given(RECORDS, st.integers(0, 2**60), st.integers(-1, 2**45))
@settings(max_examples=60)
def test_records_come_back_with_absolute_offsets_and_times(
    new: list[NewRecord], base_offset: int, base_timestamp: int
) -> None:
    payload = encode(new, base_timestamp)
    read = list(walk(payload, len(new), base_offset, base_timestamp))
    assert [(r.key, r.value, r.timestamp, r.headers) for r in read] == [tuple(r) for r in new]
    assert [r.offset for r in read] == list(range(base_offset, base_offset + len(new)))


@given(RECORDS)
@settings(max_examples=60)
def test_the_walk_for_keys_sees_the_same_records(new: list[NewRecord]) -> None:
    payload = encode(new, 0)
    keys = list(walk_keys(payload, len(new), 70))
    full = list(walk(payload, len(new), 70, 0))
    assert [(k.offset, k.key, k.has_value) for k in keys] == [
        (r.offset, r.key, r.value is not None) for r in full
    ]
    assert b"".join(payload[k.start : k.end] for k in keys) == payload
    assert [k.start for k in keys[1:]] == [k.end for k in keys[:-1]]
    assert list(starts(payload, len(new))) == [k.start for k in keys]


@given(RECORDS)
@settings(max_examples=60)
def test_a_record_without_a_key_is_found(new: list[NewRecord]) -> None:
    found = has_keyless(encode(new, 0), len(new))
    assert found == any(record.key is None for record in new)


def test_log_append_time_overrides_every_timestamp() -> None:
    payload = encode([NewRecord(timestamp=5), NewRecord(timestamp=9)], 5)
    assert [r.timestamp for r in walk(payload, 2, 0, 5, append_time=77)] == [77, 77]


def test_long_deltas_need_more_bytes_and_are_read() -> None:
    raw = b"".join(encode_record(2**31 - 1, -(2**62), b"k", b"v" * 70_000))
    (record,) = walk(raw, 1, 1, 2**62)
    assert (record.offset, record.timestamp, len(record.value or b"")) == (2**31, 0, 70_000)
    (key,) = walk_keys(raw, 1, 1)
    assert (key.offset, key.key) == (2**31, b"k")


@pytest.mark.parametrize("wrong", [-1, 0, 1, 3, 2**31 - 1])
def test_a_count_that_does_not_fit_is_corrupt(wrong: int) -> None:
    payload = encode([NewRecord(b"k", b"v"), NewRecord(b"k", b"v")], -1)
    for read in (
        lambda: list(walk(payload, wrong, 0, 0)),
        lambda: list(walk_keys(payload, wrong, 0)),
        lambda: starts(payload, wrong),
    ):
        with pytest.raises(Corrupt):
            read()


def test_a_header_key_that_is_not_utf8_reads_as_in_java() -> None:
    """Kafka takes it, and its consumers see a replacement character."""
    payload = bytearray(encode([NewRecord(headers=(("abc", b""),))], -1))
    payload[payload.index(b"abc")] = 0xFF
    (record,) = walk(bytes(payload), 1, 0, 0)
    assert record.headers == (("\ufffdbc", b""),)


@pytest.mark.parametrize("base", [0, 5, -5, 2**63 - 1, -(2**63), 2**62, -(2**62)])
@pytest.mark.parametrize("delta", [0, 1, -1, 10**6, 2**62, -(2**62), 2**63 - 1, -(2**63)])
def test_timestamps_are_of_64_bits_whatever_base_and_delta_say(base: int, delta: int) -> None:
    payload = b"".join(encode_record(0, delta, None, None))
    (record,) = walk(payload, 1, 0, base)
    assert -(2**63) <= record.timestamp < 2**63
    assert (record.timestamp - base - delta) % 2**64 == 0


def test_a_delta_of_more_than_64_bits_is_written_as_java_counts() -> None:
    for delta in (2**63, 2**64 - 1, -(2**63) - 1, 1 - 2**64):
        packed = write_varint(delta)
        assert packed == write_varint((delta + 2**63) % 2**64 - 2**63)
        assert len(packed) <= 10


@given(st.binary(max_size=60), st.integers(0, 8))
@settings(max_examples=200)
def test_only_corrupt_comes_out_of_random_bytes(payload: bytes, count: int) -> None:
    for read in (walk(payload, count, 0, 0), walk_keys(payload, count, 0)):
        with suppress(Corrupt):
            list(read)
    with suppress(Corrupt):
        has_keyless(payload, count)
    with suppress(Corrupt):
        starts(payload, count)


@given(RECORDS.filter(bool), st.data())
@settings(max_examples=100)
def test_only_corrupt_comes_out_of_a_flipped_byte(
    new: list[NewRecord], data: st.DataObject
) -> None:
    payload = bytearray(encode(new, 0))
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    for read in (walk(bytes(payload), len(new), 0, 0), walk_keys(bytes(payload), len(new), 0)):
        with suppress(Corrupt):
            list(read)
