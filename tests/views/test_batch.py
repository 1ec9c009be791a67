"""One batch through an expression: what is left of it."""

from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.expressions import compile_expression
from kafkapy.expressions.compiled import LEAST_COST_US
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
from kafkapy.protocol.batches.control_records import build_marker
from kafkapy.views.batch import filtered, skipped


def result(work: Generator[int, None, bytes | None]) -> bytes | None:
    while True:
        try:
            assert next(work) >= 0
        except StopIteration as done:
            value: bytes | None = done.value
            return value


def shown(batch: bytes, where: str) -> bytes | None:
    return result(filtered(batch, read_header(batch), compile_expression(where), 3, "orders"))


NEW = st.builds(
    NewRecord,
    st.none() | st.binary(max_size=5),
    st.none() | st.sampled_from([b"a", b"b", b"c" * 300]),
    st.integers(1_000, 2_000),
    st.lists(st.tuples(st.sampled_from("hi"), st.none() | st.binary(max_size=3)), max_size=2).map(
        tuple
    ),
)
EXPRESSIONS = st.sampled_from(
    ["value = 'a'", "offset % 3 = 0", "headers.h is not null", "timestamp > 1500", "true", "false"]
)


@given(
    st.lists(NEW, min_size=1, max_size=20),
    st.sampled_from(list(Codec)),
    st.booleans(),
    st.none() | st.just(1_777),
    EXPRESSIONS,
)
def test_the_records_that_an_expression_holds_for_stay_as_they_are(
    new: list[NewRecord], codec: Codec, is_transactional: bool, append_time: int | None, where: str
) -> None:
    batch = build_batch(
        new,
        base_offset=100,
        leader_epoch=7,
        codec=codec,
        producer_id=9,
        producer_epoch=2,
        base_sequence=5,
        is_transactional=is_transactional,
        log_append_time_ms=append_time,
    )
    expression = compile_expression(where)
    wanted = [one for one in records(batch) if expression.holds(one, 3, "orders")]
    made = shown(batch, where)
    if not wanted:
        assert made is None
        return
    assert made is not None
    assert list(records(made)) == wanted
    before, after = read_header(batch), read_header(made)
    assert crc_is_valid(made, 0, after)
    for name in ("base_offset", "last_offset", "leader_epoch", "attributes", "base_timestamp"):
        assert getattr(after, name) == getattr(before, name)
    for name in ("producer_id", "producer_epoch", "base_sequence"):
        assert getattr(after, name) == getattr(before, name)
    assert after.record_count == len(wanted)
    if append_time is None:
        assert after.max_timestamp == max(one.timestamp for one in wanted)
    if len(wanted) == len(new):
        assert made == batch
    # What was filtered may be filtered again: gaps are no matter.
    assert shown(made, where) == made


def test_markers_stay() -> None:
    marker = build_marker(
        is_commit=False, coordinator_epoch=4, producer_id=9, producer_epoch=2, timestamp=1_000
    )
    assert shown(marker, "false") == marker


def test_a_batch_that_compaction_emptied_shows_nothing() -> None:
    assert shown(skipped(5, 9, 2), "true") is None


def test_what_cannot_be_unpacked_is_corrupt() -> None:
    batch = bytearray(build_batch([NewRecord(b"k", b"v" * 100)], codec=Codec.ZSTD))
    batch[61:] = bytes(len(batch) - 61)
    with pytest.raises(Corrupt):
        shown(bytes(batch), "true")


def test_a_large_batch_is_worked_on_in_slices() -> None:
    batch = build_batch([NewRecord(None, b"x") for _ in range(1_000)])
    costs = list(filtered(batch, read_header(batch), compile_expression("false"), 0, "t"))
    assert max(costs) <= 300
    assert sum(costs) >= 1_000 * LEAST_COST_US


@pytest.mark.parametrize("end", [11, 500, 10 + 2**31, 10 + 2**33])
def test_a_batch_without_records_says_where_to_go_on(end: int) -> None:
    header = read_header(skipped(10, end, 3))
    assert header.next_offset == end
    assert header.base_offset >= 10
    assert (header.record_count, header.leader_epoch, header.producer_id) == (0, 3, -1)


def test_a_batch_that_is_not_what_its_crc_says_is_corrupt() -> None:
    """Written anew it would have a good one."""
    new = [NewRecord(b"k", b"a" * 50), NewRecord(b"k", b"b" * 50)]
    batch = bytearray(build_batch(new))
    batch[batch.index(b"aaaa")] ^= 1
    for where in ("offset = 0", "true", "false"):
        with pytest.raises(Corrupt):
            shown(bytes(batch), where)


def test_a_batch_that_has_fewer_records_than_it_says_is_corrupt() -> None:
    """Also where those that it has are all shown."""
    whole = build_batch([NewRecord(b"k", b"v" * 50)] * 3)
    header = read_header(whole)
    lying = pack_batch(
        whole[HEADER_SIZE:],
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=3,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=4,
    )
    for where in ("true", "false"):
        with pytest.raises(Corrupt):
            shown(lying, where)
