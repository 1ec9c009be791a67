"""A partition log: appends, high watermark, truncation, log start."""

import pytest

from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.log.append import AppendInfo, Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import batches, read_header
from kafkapy.protocol.batches.control_records import build_marker
from tests.log.support import (
    TOPIC_ID,
    Home,
    all_batches,
    append,
    batch,
    files,
    offsets,
    read_bytes,
)

RECORD = len(batch(1, size=200))
SMALL = LogConfig(segment_bytes=3 * RECORD, index_interval_bytes=100, retention_ms=-1)


@pytest.fixture
def home() -> Home:
    return Home()


@pytest.fixture
def log(home: Home) -> PartitionLog:
    return home.open(SMALL, topic_id=TOPIC_ID)


def _fill(log: PartitionLog, records: int = 10, *, leader_epoch: int = 0) -> None:
    for _ in range(records):
        append(log, size=200, leader_epoch=leader_epoch)


# -- appending as leader


def test_batches_get_the_next_offset_and_the_leaders_epoch(log: PartitionLog) -> None:
    first = log.append_as_leader(batch(3), leader_epoch=4)
    second = log.append_as_leader(batch(2), leader_epoch=5)
    assert first == AppendInfo(0, 2, -1, 0)
    assert second == AppendInfo(3, 4, -1, 0)
    headers = [header for header, _ in all_batches(log)]
    assert [(one.base_offset, one.leader_epoch) for one in headers] == [(0, 4), (3, 5)]
    assert list(log.epochs) == [(4, 0), (5, 3)]
    assert log.log_end_offset == 5


def test_what_is_refused_changes_nothing(home: Home, log: PartitionLog) -> None:
    _fill(log)
    before = files(home.disk, home.path)
    bad = bytearray(batch(1))
    bad[70] ^= 1
    for records in (memoryview(bad), batch(2)[:70], batch(1, base_offset=3), batch(50, size=200)):
        with pytest.raises(Refused):
            log.append_as_leader(memoryview(records), leader_epoch=0)
    assert files(home.disk, home.path) == before
    assert log.log_end_offset == 10


def test_more_than_a_segment_holds_is_refused(log: PartitionLog) -> None:
    with pytest.raises(Refused) as refused:
        log.append_as_leader(batch(9, size=200), leader_epoch=0)
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE


def test_log_append_time_is_answered(home: Home) -> None:
    log = home.open(LogConfig(message_timestamp_type="LogAppendTime"))
    info = log.append_as_leader(batch(1), leader_epoch=0)
    assert info.log_append_time_ms == home.clock.now()
    assert read_header(read_bytes(log, 0)).max_timestamp == home.clock.now()


def test_a_retried_batch_is_answered_again_and_not_appended(log: PartitionLog) -> None:
    data = batch(3, producer_id=9, producer_epoch=0, base_sequence=0)
    log.append_as_leader(data, leader_epoch=0)
    append(log)
    again = log.append_as_leader(data, leader_epoch=0)
    assert (again.first_offset, again.last_offset, again.is_duplicate) == (0, 2, True)
    assert log.log_end_offset == 4


def test_a_disk_that_fails_leaves_the_log_as_it_was(home: Home, log: PartitionLog) -> None:
    _fill(log, 2)
    home.disk.fail("append", in_path=".log")
    with pytest.raises(DiskFailed):
        append(log, leader_epoch=1)
    assert (log.log_end_offset, log.latest_epoch) == (2, 0)
    assert append(log) == 2
    assert offsets(log) == [0, 1, 2]


def test_a_full_disk_leaves_the_log_as_it_was(home: Home, log: PartitionLog) -> None:
    _fill(log, 2)
    home.disk.capacity = 1
    with pytest.raises(DiskFailed, match="No space"):
        append(log)
    home.disk.capacity = 2**40
    assert append(log) == 2


# -- rolling


def test_it_rolls_before_a_segment_would_be_too_large(log: PartitionLog) -> None:
    _fill(log)
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6, 9]
    assert all(segment.size <= SMALL.segment_bytes for segment in log.segments)


def test_it_rolls_for_the_time_between_records(home: Home) -> None:
    log = home.open(LogConfig(segment_ms=100))
    for timestamp in (1000, 1050, 1100, 1101, 1102):
        append(log, timestamp=timestamp)
    assert [segment.base_offset for segment in log.segments] == [0, 3]


def test_without_timestamps_it_rolls_for_the_time_that_passes(home: Home) -> None:
    log = home.open(LogConfig(segment_ms=100))
    append(log, timestamp=-2)
    home.clock.advance(100)
    append(log, timestamp=-2)
    home.clock.advance(1)
    append(log, timestamp=-2)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_jitter_lets_it_roll_earlier(home: Home) -> None:
    log = home.open(LogConfig(segment_ms=1000, segment_jitter_ms=500))
    jitter_ms = log.segments.active.roll_jitter_ms
    assert 0 < jitter_ms < 500
    append(log, timestamp=1000)
    append(log, timestamp=2000 - jitter_ms)
    assert len(log.segments) == 1
    append(log, timestamp=2001 - jitter_ms)
    assert len(log.segments) == 2


def test_it_rolls_when_an_index_is_full(home: Home) -> None:
    log = home.open(LogConfig(index_interval_bytes=0, segment_index_bytes=12 * 5))
    for i in range(12):
        append(log, timestamp=1000 + i)
    assert [segment.base_offset for segment in log.segments] == [0, 5, 10]


def test_it_rolls_when_offsets_would_not_fit_beside_the_base(home: Home) -> None:
    log = home.open()
    append(log)
    log.append_as_follower(batch(1, base_offset=2**31 - 1))
    assert len(log.segments) == 1
    log.append_as_follower(batch(1, base_offset=2**31))
    assert [segment.base_offset for segment in log.segments] == [0, 2**31]


# -- appending as follower


def test_a_follower_keeps_offsets_and_epochs(log: PartitionLog) -> None:
    data = bytes(batch(2, base_offset=0, leader_epoch=3)) + bytes(
        batch(2, base_offset=2, leader_epoch=4)
    )
    assert log.append_as_follower(memoryview(data)).last_offset == 3
    assert read_bytes(log, 0) == data
    assert list(log.epochs) == [(3, 0), (4, 2)]


def test_a_follower_ignores_a_last_batch_that_is_cut_off_and_what_it_has(
    log: PartitionLog,
) -> None:
    append(log, 2)
    data = bytes(batch(2, base_offset=0)) + bytes(batch(2, base_offset=2))
    cut = data + bytes(batch(2, base_offset=4))[:-1]
    info = log.append_as_follower(memoryview(cut))
    assert (info.first_offset, info.last_offset) == (2, 3)
    assert offsets(log) == [0, 1, 2, 3]
    assert log.append_as_follower(memoryview(b"")).last_offset == 3


def test_a_follower_refuses_what_does_not_continue_its_log(log: PartitionLog) -> None:
    append(log, 2)
    bad = bytearray(batch(1, base_offset=2))
    bad[70] ^= 1
    for data in (bytes(bad), bytes(batch(3, base_offset=1))):
        with pytest.raises(Corrupt):
            log.append_as_follower(memoryview(data))
    assert offsets(log) == [0, 1]


def test_a_follower_that_begins_in_the_middle_of_a_batch_has_all_of_it(log: PartitionLog) -> None:
    log.truncate_fully_and_start_at(4)
    log.append_as_follower(batch(3, base_offset=3))
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (4, 6, 4)
    assert log.segments.first.base_offset == 3
    assert read_header(read_bytes(log, 4)).base_offset == 3
    with pytest.raises(Refused):
        log.read(3, 100, upper=6)


def test_a_leader_and_its_follower_write_the_same_bytes(home: Home) -> None:
    leader, other = home.open(SMALL), Home()
    _fill(leader)
    follower = other.open(SMALL)
    while follower.log_end_offset < leader.log_end_offset:
        data = read_bytes(leader, follower.log_end_offset)
        follower.append_as_follower(memoryview(data))
    leader.roll()
    follower.roll()
    assert files(home.disk, home.path) == files(other.disk, other.path)


# -- high watermark and last stable offset


def test_the_high_watermark_only_advances_and_not_above_the_end(log: PartitionLog) -> None:
    _fill(log)
    log.advance_high_watermark(7)
    log.advance_high_watermark(5)
    assert log.high_watermark == 7
    log.advance_high_watermark(99)
    assert log.high_watermark == 10


def test_an_open_transaction_holds_the_last_stable_offset_back(log: PartitionLog) -> None:
    ids = {"producer_id": 5, "producer_epoch": 0}
    append(log)
    log.append_as_follower(batch(2, base_offset=1, base_sequence=0, is_transactional=True, **ids))
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 1
    marker = build_marker(is_commit=False, coordinator_epoch=0, timestamp=1000, **ids)
    log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    assert log.last_stable_offset == 1
    log.advance_high_watermark(4)
    assert log.last_stable_offset == 4
    assert log.aborted_transactions(0, 4) == [(5, 1)]
    assert log.aborted_transactions(4, 4) == []


@pytest.mark.parametrize("offset", [0, 3, 148, 297, 299])
@pytest.mark.parametrize("max_bytes", [1, 1000, 1 << 20])
def test_a_read_is_told_of_the_aborted_transactions_in_it_and_of_few_others(
    home: Home, offset: int, max_bytes: int
) -> None:
    """A consumer that catches up heard of all there were, with each of its fetches."""
    log = home.open(LogConfig(retention_ms=-1, segment_bytes=4000, index_interval_bytes=200))
    for number in range(100):
        ids = {"producer_id": number % 3, "producer_epoch": 0}
        first, sequence = 3 * number, 2 * (number // 3)
        data = batch(2, base_offset=first, base_sequence=sequence, is_transactional=True, **ids)
        log.append_as_follower(data)
        marker = build_marker(is_commit=False, coordinator_epoch=0, timestamp=1000, **ids)
        log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    log.advance_high_watermark(300)
    assert len(log.segments) > 2
    read = log.read(offset, max_bytes, upper=300)
    got = b"".join(part.read() for part in read.slices)
    end = max(header.next_offset for _, header in batches(got))
    everything = log.aborted_transactions(offset, 300)
    told = log.aborted_transactions(offset, 300, read.size)
    needed = [one for one in everything if one[1] < end]
    assert told[: len(needed)] == needed
    assert len(told) <= len(needed) + 3


def test_a_marker_of_an_old_epoch_is_refused(log: PartitionLog) -> None:
    append(log, producer_id=5, producer_epoch=3, base_sequence=0)
    marker = build_marker(
        is_commit=True, coordinator_epoch=0, timestamp=1000, producer_id=5, producer_epoch=2
    )
    with pytest.raises(Refused) as refused:
        log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


# -- the log start


def test_records_below_the_log_start_cannot_be_read(log: PartitionLog) -> None:
    _fill(log)
    log.advance_high_watermark(8)
    assert log.advance_log_start_offset(5)
    assert not log.advance_log_start_offset(4)
    assert offsets(log)[0] == 5
    with pytest.raises(Refused) as refused:
        log.read(4, 100, upper=10)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert list(log.epochs) == [(0, 5)]


def test_the_log_start_cannot_pass_the_high_watermark(log: PartitionLog) -> None:
    _fill(log)
    log.advance_high_watermark(5)
    with pytest.raises(Refused) as refused:
        log.advance_log_start_offset(6)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


# -- truncation


@pytest.mark.parametrize("target", range(11))
def test_nothing_at_or_above_the_target_is_left(home: Home, target: int) -> None:
    log = home.open(SMALL)
    _fill(log)
    log.advance_high_watermark(8)
    log.truncate_to(target)
    assert offsets(log) == list(range(target))
    assert (log.log_end_offset, log.high_watermark) == (target, min(8, target))
    assert log.recovery_point <= target
    assert append(log, leader_epoch=1) == target
    log.abandon()
    assert offsets(home.open(SMALL)) == list(range(target + 1))


def test_a_batch_goes_whole(log: PartitionLog) -> None:
    append(log, 3)
    append(log, 3)
    log.truncate_to(4)
    assert log.log_end_offset == 3


def test_truncation_takes_epochs_and_producers_back(log: PartitionLog) -> None:
    for sequence in range(4):
        append(log, leader_epoch=sequence, producer_id=5, producer_epoch=0, base_sequence=sequence)
    log.truncate_to(2)
    assert list(log.epochs) == [(0, 0), (1, 1)]
    entry = log.producers.get(5)
    assert entry is not None
    assert entry.last_sequence == 1
    assert log.end_offset_for_epoch(1) == (1, 2)


def test_truncation_tells_before_and_after(home: Home, log: PartitionLog) -> None:
    _fill(log)
    log.flush(lambda _: None)
    told: list[str] = []
    log.events.on_recovery_point_lowered = lambda: told.append(f"lowered to {log.recovery_point}")
    log.events.on_truncated = lambda: told.append(f"ends at {log.log_end_offset}")
    log.truncate_to(5)
    assert told == ["lowered to 4", "ends at 5"]
    told.clear()
    append(log)
    log.truncate_to(5)
    assert told == ["ends at 5"]


def test_starting_over_elsewhere_leaves_nothing(home: Home, log: PartitionLog) -> None:
    _fill(log)
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert (log.recovery_point, log.size, log.latest_epoch) == (100, 0, -1)
    assert append(log) == 100
    log.abandon()
    assert offsets(home.open(SMALL, log_start_offset=100)) == [100]


def test_below_its_first_segment_truncation_starts_over(log: PartitionLog) -> None:
    log.truncate_fully_and_start_at(100)
    _fill(log, 2)
    log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_skipping_ahead_changes_only_the_end(log: PartitionLog) -> None:
    _fill(log, 2)
    log.skip_to(7)
    assert log.log_end_offset == 7
    assert append(log) == 7
    assert [header.base_offset for header, _ in all_batches(log)] == [0, 1, 7]


# -- epochs


def test_an_epoch_is_known_from_its_start_on(home: Home, log: PartitionLog) -> None:
    _fill(log, 2)
    log.assign_epoch(7, 2)
    assert log.latest_epoch == 7
    assert log.end_offset_for_epoch(0) == (0, 2)
    assert log.end_offset_for_epoch(7) == (7, 2)
    assert log.end_offset_for_epoch(8) == (-1, -1)
    log.flush(lambda _: None)
    checkpoint = home.disk.read_file(f"{home.path}/leader-epoch-checkpoint")
    assert checkpoint == b"0\n2\n0 0\n7 2\n"


def test_an_epoch_that_begins_is_no_reason_to_touch_the_disk(home: Home, log: PartitionLog) -> None:
    """A node that starts begins one in each of ten thousand logs."""
    _fill(log, 2)
    again = home.restart(log)
    flushes = home.disk.flushes
    again.assign_epoch(4, 2)
    again.assign_epoch(6, 2)
    assert home.disk.flushes == flushes
    assert home.disk.read_file(f"{home.path}/leader-epoch-checkpoint") == b"0\n1\n0 0\n"
    assert append(again, leader_epoch=6) == 2
    assert list(again.epochs) == [(0, 0), (6, 2)]
    assert again.end_offset_for_epoch(5) == (0, 2)


def test_batches_read_are_the_bytes_that_were_written(log: PartitionLog) -> None:
    sent = bytes(batch(3, size=50))
    log.append_as_leader(memoryview(sent), leader_epoch=9)
    data = read_bytes(log, 0)
    assert data[16:] == sent[16:]
    assert [header.leader_epoch for _, header in batches(data)] == [9]
