"""Finding bytes by offset and by time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.reading import FoundTimestamp, Positions
from kafkapy.protocol.batches.batch import HEADER_SIZE, batches, pack_batch, read_header
from tests.log.support import Home, all_batches, append, batch, read_bytes

SMALL = LogConfig(segment_bytes=2000, index_interval_bytes=300, retention_ms=-1)


@pytest.fixture
def log() -> PartitionLog:
    """60 records in 30 batches over several segments; timestamps ascend by 10."""
    log = Home().open(SMALL)
    for i in range(30):
        append(log, 2, size=50, timestamp=1000 + 20 * i)
    assert len(log.segments) > 2
    return log


def test_a_read_begins_with_the_batch_that_holds_the_offset(log: PartitionLog) -> None:
    for offset in range(60):
        data = read_bytes(log, offset)
        assert read_header(data).base_offset == offset - offset % 2


def test_one_read_stays_in_one_segment(log: PartitionLog) -> None:
    first = log.segments.at(0)
    assert len(read_bytes(log, 0)) == first.size
    end = log.segments.end_of(0)
    assert end is not None
    assert read_header(read_bytes(log, end)).base_offset == end


def test_the_last_batch_may_be_cut_off_but_never_the_first(log: PartitionLog) -> None:
    size = read_header(read_bytes(log, 0)).size
    assert len(read_bytes(log, 0, 2 * size + 7)) == 2 * size + 7
    for too_few in (0, 1, HEADER_SIZE, size - 1):
        assert len(read_bytes(log, 0, too_few)) == size
    assert len(read_bytes(log, 0, size)) == size


def test_without_the_favour_a_batch_too_large_is_not_read(log: PartitionLog) -> None:
    size = read_header(read_bytes(log, 0)).size
    assert log.read(0, size - 1, upper=60, min_one_batch=False).slices == []
    found = log.read(0, size + 1, upper=60, min_one_batch=False)
    assert found.size == size + 1


def test_nothing_at_or_above_the_bound_is_read(log: PartitionLog) -> None:
    for upper in range(0, 61, 2):
        seen = [header.base_offset for _, header in batches(read_bytes(log, 0, upper=upper))]
        end = min(upper, log.segments.end_of(0) or 60)
        assert seen == list(range(0, end, 2))


def test_a_bound_inside_a_batch_leaves_it_out(log: PartitionLog) -> None:
    seen = [header.base_offset for _, header in batches(read_bytes(log, 0, upper=7))]
    assert seen == [0, 2, 4]


def test_there_is_nothing_at_the_end(log: PartitionLog) -> None:
    assert read_bytes(log, 60) == b""
    assert log.read(60, 100, upper=60).first_offset == 60


@pytest.mark.parametrize("offset", [-1, 61])
def test_outside_of_the_log_is_refused(log: PartitionLog, offset: int) -> None:
    with pytest.raises(Refused) as refused:
        log.read(offset, 100, upper=60)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_consumer_at_the_end_costs_no_read_of_the_file() -> None:
    home = Home()
    log = home.open(SMALL)
    append(log)
    before = append(log)
    log.advance_high_watermark(before)
    append(log)
    home.disk.fail("read", cause="the file was read")
    found = log.read(before, 10_000, upper=log.log_end_offset)
    assert found.size
    assert log.read(0, 10_000, upper=before).size


def test_recent_positions_are_few() -> None:
    positions = Positions()
    for offset in range(10_000):
        positions.remember(offset, offset * 7)
    assert positions.get(9_999) == 9_999 * 7
    assert positions.get(9_000) is None
    positions.clear()
    assert positions.get(9_999) is None


def test_a_hole_that_compaction_left_is_read_across() -> None:
    """Offsets 2..9 are gone: the next batch there is begins at 10, in another segment."""
    log = Home().open()
    append(log, 2)
    log.roll()
    log.append_as_follower(batch(3, base_offset=10))
    assert [header.base_offset for header, _ in all_batches(log)] == [0, 10]
    assert read_header(read_bytes(log, 5)).base_offset == 10


# -- by time


def test_the_first_record_at_a_time_or_later_is_found(log: PartitionLog) -> None:
    """Batch i holds the timestamps 1000 + 20 i and one more."""
    for i in range(30):
        timestamp = 1000 + 20 * i
        assert log.offset_for_timestamp(timestamp) == FoundTimestamp(2 * i, timestamp, 0)
        assert log.offset_for_timestamp(timestamp - 5) == FoundTimestamp(2 * i, timestamp, 0)
        second = FoundTimestamp(2 * i + 1, timestamp + 1, 0)
        assert log.offset_for_timestamp(timestamp + 1) == second
    assert log.offset_for_timestamp(1000 + 20 * 29 + 2) is None


def test_records_below_the_log_start_are_not_found(log: PartitionLog) -> None:
    log.advance_high_watermark(60)
    log.advance_log_start_offset(7)
    found = log.offset_for_timestamp(0)
    assert found is not None
    assert found.offset == 7


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=40),
    st.integers(-1, 41),
    st.sampled_from([100, 400, 5000]),
)
def test_times_that_go_up_and_down_are_searched_as_by_hand(
    timestamps: list[int], wanted: int, segment_bytes: int
) -> None:
    log = Home().open(
        LogConfig(segment_bytes=segment_bytes, index_interval_bytes=150, retention_ms=-1)
    )
    for timestamp in timestamps:
        append(log, timestamp=timestamp)
    expected = next(((at, ts) for at, ts in enumerate(timestamps) if ts >= wanted), None)
    found = log.offset_for_timestamp(wanted)
    assert (None if found is None else found[:2]) == expected
    largest = max(timestamps)
    newest = log.max_timestamp_offset()
    assert newest is not None
    assert newest[:2] == (timestamps.index(largest), largest)


def test_an_empty_log_has_no_times() -> None:
    log = Home().open()
    assert log.max_timestamp_offset() is None
    assert log.offset_for_timestamp(0) is None


def test_the_epoch_comes_from_the_batch() -> None:
    log = Home().open()
    append(log, leader_epoch=3, timestamp=10)
    append(log, leader_epoch=5, timestamp=20)
    assert log.offset_for_timestamp(15) == FoundTimestamp(1, 20, 5)
    assert log.max_timestamp_offset() == FoundTimestamp(1, 20, 5)


def test_a_batch_whose_records_cannot_be_read_is_found_by_its_header() -> None:
    """A client says two records, and sends one and rubbish: to be seen by whoever fetches it."""
    log = Home().open(SMALL)
    append(log, 2, size=50, timestamp=1000)
    good = batch(2, size=50, timestamp=2000)
    header = read_header(good)
    rubbish = pack_batch(
        bytes(good[HEADER_SIZE:-10]) + b"\xff" * 10,
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=2,
    )
    log.append_as_leader(memoryview(rubbish), leader_epoch=0)
    assert log.offset_for_timestamp(2001) == FoundTimestamp(2, 2001, 0)
    assert log.max_timestamp_offset() == FoundTimestamp(2, 2001, 0)


def test_a_batch_that_lies_about_its_timestamps_is_found_by_its_header() -> None:
    """Its producer says that there is something newer than there is. Kafka refuses that, for the
    price of looking at each record of each batch; here the first of many such batches is looked at
    when somebody asks, and the others are not: a gigabyte of them is not unpacked on the loop."""
    log = Home().open(SMALL)
    append(log, 2, size=50, timestamp=1000)
    good = batch(2, size=50, timestamp=2000)
    header = read_header(good)
    lie = pack_batch(
        bytes(good[HEADER_SIZE:]),
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=header.base_timestamp,
        max_timestamp=5000,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=2,
    )
    for _ in range(3):
        log.append_as_leader(memoryview(lie), leader_epoch=0)
    assert log.offset_for_timestamp(2001) == FoundTimestamp(3, 2001, 0)
    assert log.offset_for_timestamp(3000) == FoundTimestamp(2, 5000, 0)
    assert log.max_timestamp_offset() == FoundTimestamp(2, 5000, 0)
    log.advance_high_watermark(8)
    log.advance_log_start_offset(3)
    assert log.offset_for_timestamp(3000) == FoundTimestamp(4, 5000, 0)
