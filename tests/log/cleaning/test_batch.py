"""One batch through the cleaner: bytes kept, rewritten, emptied, dropped."""

from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.seams import Bytes
from kafkapy.log.cleaning.batch import Verdict, filter_batch, map_keys
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.protocol.batches.batch import (
    HEADER_SIZE,
    Codec,
    NewRecord,
    build_batch,
    crc_is_valid,
    pack_batch,
    read_header,
    records,
)
from kafkapy.protocol.batches.control_records import build_marker, read_marker
from kafkapy.protocol.batches.records import encode_record

Result = TypeVar("Result")
NOW = 1_700_000_000_000
KEEP = Verdict(True, False, False)


def result(work: Generator[int, None, Result]) -> Result:
    while True:
        try:
            cost = next(work)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the generator returns
        assert cost >= 0


def mapped(*batches: bytes) -> OffsetMap:
    offsets = OffsetMap(1 << 20)
    for batch in batches:
        header = read_header(batch)
        assert result(map_keys(batch, header, 0, offsets))
        offsets.mapped_up_to(header.last_offset)
    return offsets


def filtered(
    batch: bytes, offsets: OffsetMap, verdict: Verdict = KEEP, now: int = NOW
) -> Bytes | None:
    kept = result(filter_batch(batch, read_header(batch), verdict, offsets, now, 5000))
    if kept is not None:
        header = read_header(kept)
        assert header.size == len(kept)
        assert crc_is_valid(kept, 0, header)
    return kept


PAIRS = st.lists(
    st.tuples(
        st.sampled_from([b"a", b"b", b"c", b"a key longer than a digest"]),
        st.none() | st.binary(max_size=20),
        st.integers(-1, 2**42),
    ),
    min_size=1,
    max_size=20,
)


@given(PAIRS, st.sampled_from(Codec), st.none() | st.integers(0, 2**42), st.integers(0, 2**50))
@settings(max_examples=60)
def test_the_kept_records_are_the_records_they_were(
    pairs: list[tuple[bytes, bytes | None, int]],
    codec: Codec,
    append_time: int | None,
    base_offset: int,
) -> None:
    batch = build_batch(
        [NewRecord(key, value, timestamp, (("h", b"x"),)) for key, value, timestamp in pairs],
        base_offset=base_offset,
        leader_epoch=4,
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=77,
        log_append_time_ms=append_time,
    )
    latest = {key: offset for offset, (key, _, _) in enumerate(pairs, base_offset)}
    expected = [r for r in records(batch) if latest[r.key or b""] == r.offset]
    kept = filtered(batch, mapped(batch))
    assert kept is not None
    assert list(records(kept)) == expected
    old, new = read_header(batch), read_header(kept)
    has_tombstone = any(record.value is None for record in expected)
    assert new.delete_horizon_ms == (NOW + 5000 if has_tombstone else None)
    if new.record_count == old.record_count and not has_tombstone:
        assert kept is batch
    assert new.max_timestamp == max(record.timestamp for record in expected)
    same = "base_offset leader_epoch last_offset_delta producer_id producer_epoch base_sequence"
    for field in same.split():
        assert getattr(new, field) == getattr(old, field)
    # Once more, past the horizon: tombstones are gone, nothing else changes.
    again = filtered(bytes(kept), mapped(batch), now=NOW + 5000)
    remaining = [record for record in expected if record.value is not None]
    assert (list(records(again)) if again is not None else []) == remaining


@pytest.mark.parametrize("base", [NOW, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("deltas", [(0, 1), (2**63 - 1, -(2**63)), (-(2**63), -1), (1, NOW)])
@pytest.mark.parametrize("value", [b"v", None])
def test_timestamps_that_no_producer_means_stay_what_java_reads(
    base: int, deltas: tuple[int, int], value: bytes | None
) -> None:
    """Anybody who may write can say such things; a cleaner has to come by."""
    payload = b"".join(
        b"".join(encode_record(offset, delta, key, value))
        for offset, (key, delta) in enumerate([(b"a", 0), (b"a", deltas[0]), (b"b", deltas[1])])
    )
    batch = pack_batch(
        payload,
        base_offset=0,
        leader_epoch=0,
        attributes=0,
        last_offset_delta=2,
        base_timestamp=base,
        max_timestamp=base,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=3,
    )
    kept = filtered(batch, mapped(batch))
    assert kept is not None
    assert list(records(kept)) == list(records(batch))[1:]


def test_tombstones_may_be_kept_for_ever() -> None:
    batch = build_batch([NewRecord(b"a", None, NOW)])
    offsets = mapped(batch)
    work = filter_batch(batch, read_header(batch), KEEP, offsets, NOW, 2**63 - 1)
    kept = result(work)
    assert kept is not None
    assert read_header(kept).delete_horizon_ms == 2**63 - 1
    assert list(records(kept)) == list(records(batch))


def test_records_beyond_the_map_are_kept_whatever_their_key() -> None:
    batch = build_batch([NewRecord(b"a", b"1", NOW), NewRecord(None, None, NOW)], base_offset=10)
    offsets = OffsetMap(1 << 20)
    offsets.put(b"a", 999)
    offsets.mapped_up_to(9)
    kept = filtered(batch, offsets)
    assert kept is not None
    assert [record.offset for record in records(kept)] == [10, 11]


@pytest.mark.parametrize("codec", list(Codec))
def test_an_emptied_batch_is_a_header_as_kafka_writes_it(codec: Codec) -> None:
    batch = build_batch(
        [NewRecord(b"a", b"1", 5), NewRecord(b"b", b"1", 9)],
        base_offset=10,
        leader_epoch=3,
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=7,
        is_transactional=True,
    )
    kept = filtered(batch, OffsetMap(1 << 20), Verdict(False, True, False))
    assert kept is not None
    assert len(kept) == HEADER_SIZE
    old, new = read_header(batch), read_header(kept)
    assert new == old._replace(
        length=new.length, crc=new.crc, attributes=0x10, base_timestamp=-1, record_count=0
    )
    assert list(records(kept)) == []
    assert filtered(batch, OffsetMap(1 << 20), Verdict(False, False, False)) is None


def test_a_marker_without_data_gets_a_horizon_and_keeps_its_record() -> None:

    marker = build_marker(
        is_commit=True, coordinator_epoch=3, producer_id=9, producer_epoch=1, timestamp=NOW - 9
    )
    kept = filtered(marker, OffsetMap(1 << 20), Verdict(True, False, True))
    assert kept is not None
    header = read_header(kept)
    assert header.delete_horizon_ms == NOW + 5000
    assert header.max_timestamp == NOW - 9
    assert read_marker(kept) == read_marker(marker)
    assert filtered(bytes(kept), OffsetMap(1 << 20), Verdict(True, False, True)) == kept


def test_mapping_stops_when_the_map_is_full() -> None:
    batch = build_batch([NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")])
    offsets = OffsetMap(2 * 192, 1.0)
    assert result(map_keys(batch, read_header(batch), 0, offsets)) is False
    assert len(offsets) == 2


def test_mapping_begins_where_the_log_is_dirty() -> None:
    batch = build_batch([NewRecord(b"a"), NewRecord(b"b"), NewRecord(None)], base_offset=5)
    offsets = OffsetMap(1 << 20)
    assert result(map_keys(batch, read_header(batch), 6, offsets)) is True
    assert (offsets.get(b"a"), offsets.get(b"b")) == (-1, 6)
