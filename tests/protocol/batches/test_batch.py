"""Batches: headers, stamps, CRCs, and batches that Apache Kafka wrote."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    MAX_SEQUENCE,
    STAMP_SIZE,
    BatchHeader,
    Codec,
    NewRecord,
    UnsupportedMagic,
    batches,
    build_batch,
    crc_is_valid,
    keys,
    payload,
    read_header,
    records,
    stamp,
    stamp_of,
    stamped,
)
from kafkapy.protocol.batches.records import encode

FIXTURES = Path(__file__).parents[2] / "fixtures" / "batches"
KAFKAS = sorted(path.stem for path in FIXTURES.glob("*.bin"))


def kafkas(name: str) -> bytes:
    return (FIXTURES / f"{name}.bin").read_bytes()


def again(batch: bytes) -> bytes:
    """The batch rebuilt from its records."""
    header = read_header(batch)
    return build_batch(
        [NewRecord(r.key, r.value, r.timestamp, r.headers) for r in records(batch)],
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        codec=header.codec,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )


@pytest.mark.parametrize("name", KAFKAS)
def test_kafkas_batches_hold_the_records_that_were_sent(name: str) -> None:
    data = kafkas(name)
    ((position, header),) = batches(data)
    assert (position, header.size, header.record_count) == (0, len(data), 20)
    assert crc_is_valid(data, 0, header)
    read = list(records(data))
    assert [r.offset for r in read] == list(range(20))
    assert [r.key for r in read] == [b"key-%d" % (i % 7) for i in range(20)]
    assert [r.value for r in read] == [b"value %d " % i * (1 + i * 3) for i in range(20)]
    assert [k.key for k in keys(data)] == [r.key for r in read]


def test_kafkas_headers_keep_order_and_nulls() -> None:
    assert next(records(kafkas("none"))).headers == (("trace", b"0"), ("empty", b""))
    assert next(records(kafkas("snappy_raw"))).headers == (("trace", b"0"), ("n", None))


@pytest.mark.parametrize("name", ["none", "gzip", "lz4", "recompressed_gzip"])
def test_a_kafka_batch_rebuilt_from_its_records_is_the_same_bytes(name: str) -> None:
    """Compressed ones too, where library and flags are the same."""
    assert again(kafkas(name)) == kafkas(name)


@pytest.mark.parametrize("name", ["snappy", "zstd", "snappy_raw"])
def test_compressed_kafka_batches_are_rebuilt_with_the_same_records(name: str) -> None:
    data = kafkas(name)
    rebuilt = again(data)
    header = read_header(data)
    assert payload(rebuilt, read_header(rebuilt)) == payload(data, header)
    same = read_header(rebuilt)._replace(crc=header.crc, length=header.length)
    assert same == header


def test_with_log_append_time_the_batch_knows_the_only_timestamp() -> None:
    data = kafkas("log_append_time")
    header = read_header(data)
    assert header.is_log_append_time
    assert header.codec is Codec.SNAPPY
    assert {r.timestamp for r in records(data)} == {header.max_timestamp}


@given(
    new=st.lists(
        st.builds(
            NewRecord,
            st.none() | st.binary(max_size=50),
            st.none() | st.binary(max_size=300),
            st.integers(-1, 2**44),
        ),
        min_size=1,
        max_size=12,
    ),
    codec=st.sampled_from(Codec),
    base_offset=st.integers(0, 2**60),
    append_time=st.none() | st.integers(0, 2**44),
)
@settings(max_examples=60)
def test_a_batch_is_read_as_it_was_built(
    new: list[NewRecord], codec: Codec, base_offset: int, append_time: int | None
) -> None:
    batch = build_batch(
        new,
        base_offset=base_offset,
        leader_epoch=7,
        codec=codec,
        producer_id=4000,
        producer_epoch=3,
        base_sequence=MAX_SEQUENCE,
        is_transactional=True,
        log_append_time_ms=append_time,
    )
    header = read_header(batch)
    assert crc_is_valid(batch, 0, header)
    assert (header.size, header.codec, header.leader_epoch) == (len(batch), codec, 7)
    assert (header.last_offset, header.next_offset) == (
        base_offset + len(new) - 1,
        base_offset + len(new),
    )
    assert header.last_sequence == (MAX_SEQUENCE if len(new) == 1 else len(new) - 2)
    assert header.is_transactional
    assert not header.is_control
    read = list(records(batch))
    assert [(r.key, r.value) for r in read] == [(r.key, r.value) for r in new]
    times = [r.timestamp for r in new] if append_time is None else [append_time] * len(new)
    assert [r.timestamp for r in read] == times
    assert header.max_timestamp == max(times)


def test_stamping_leaves_the_crc_alone() -> None:
    batch = bytearray(b"before" + build_batch([NewRecord(b"k", b"v", 5)]))
    stamp(batch, 6, 1234567890123, 42)
    header = read_header(batch, 6)
    assert (header.base_offset, header.leader_epoch) == (1234567890123, 42)
    assert crc_is_valid(batch, 6, header)


def test_a_stamped_header_and_its_bytes_are_what_stamping_in_place_leaves() -> None:
    batch = build_batch([NewRecord(b"k", b"v", 5)])
    header = stamped(read_header(batch), 99, 8)
    in_place = bytearray(batch)
    stamp(in_place, 0, 99, 8)
    assert stamp_of(header) + batch[STAMP_SIZE:] == in_place
    assert header == read_header(in_place)


def test_any_flipped_bit_behind_the_crc_is_noticed() -> None:
    batch = build_batch([NewRecord(b"k", b"v", 5)])
    for position in range(21, len(batch)):
        broken = bytearray(batch)
        broken[position] ^= 1
        assert not crc_is_valid(broken, 0, read_header(batch))


def test_batches_stop_at_one_that_is_cut_off() -> None:
    one = build_batch([NewRecord(b"k", b"v", 5)])
    for cut in (0, 1, 11, 60, len(one) - 1):
        assert [position for position, _ in batches(one + one + one[:cut])] == [0, len(one)]


def test_headers_that_make_no_sense_are_corrupt() -> None:
    batch = bytearray(build_batch([NewRecord(b"k", b"v", 5)]))
    with pytest.raises(Corrupt):
        read_header(batch[:60])
    short = batch.copy()
    short[8:12] = (48).to_bytes(4)
    negative = batch.copy()
    negative[8:12] = (-1).to_bytes(4, signed=True)
    strange = batch.copy()
    strange[16] = 3
    for broken in (short, negative, strange):
        with pytest.raises(Corrupt):
            list(batches(broken))


def test_old_formats_are_told_apart_from_garbage() -> None:
    batch = bytearray(build_batch([NewRecord(b"k", b"v", 5)]))
    for magic in (0, 1):
        batch[16] = magic
        with pytest.raises(UnsupportedMagic):
            read_header(batch)


def test_an_unknown_codec_is_corrupt_when_asked_for() -> None:
    header = read_header(build_batch([NewRecord()]))
    with pytest.raises(Corrupt):
        _ = header._replace(attributes=6).codec


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [
        (0, 0, 0),
        (5, 4, 9),
        (MAX_SEQUENCE, 0, MAX_SEQUENCE),
        (MAX_SEQUENCE, 1, 0),
        (MAX_SEQUENCE - 1, 4, 2),
        (-1, 9, -1),
    ],
)
def test_sequences_go_on_at_zero(base: int, delta: int, last: int) -> None:
    fields = dict.fromkeys(BatchHeader._fields, 0)
    header = BatchHeader(**{**fields, "base_sequence": base, "last_offset_delta": delta})
    assert header.last_sequence == last


def test_a_delete_horizon_is_the_base_timestamp_under_its_bit() -> None:
    header = read_header(build_batch([NewRecord(timestamp=5)]))
    assert header.delete_horizon_ms is None
    assert header._replace(attributes=0x40, base_timestamp=99).delete_horizon_ms == 99


def test_a_batch_cut_short_is_corrupt_for_readers_of_records() -> None:
    batch = build_batch([NewRecord(b"k", b"v", 5)])
    with pytest.raises(Corrupt):
        records(batch[:-1])


def test_payload_of_an_uncompressed_batch_is_its_bytes() -> None:
    new = [NewRecord(b"k", b"v", 5), NewRecord(b"l", None, 6)]
    batch = build_batch(new)
    assert payload(batch, read_header(batch)) == batch[HEADER_SIZE:] == encode(new, 5)
