"""Which segments may go, and that they do."""

from dataclasses import replace
from typing import Any

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from tests.log.support import Home, append, batch, offsets

SEGMENT = LogConfig(segment_bytes=len(batch(1, size=200)) * 2, retention_ms=-1)


def _with(**settings: Any) -> LogConfig:
    return replace(SEGMENT, **settings)


@pytest.fixture
def home() -> Home:
    return Home()


def _filled(home: Home, config: LogConfig, records: int = 10) -> PartitionLog:
    """Two records to a segment, written now; everything is committed."""
    log = home.open(config)
    for _ in range(records):
        append(log, size=200, timestamp=home.clock.now())
    log.advance_high_watermark(log.log_end_offset)
    return log


def _retain(home: Home, log: PartitionLog) -> int:
    return log.apply_retention(home.clock.now())


def test_what_is_older_than_retention_ms_goes(home: Home) -> None:
    log = _filled(home, _with(retention_ms=1000), 4)
    home.clock.advance(900)
    for _ in range(4):
        append(log, size=200, timestamp=home.clock.now())
    log.advance_high_watermark(8)
    home.clock.advance(101)
    assert _retain(home, log) == 2
    assert (log.log_start_offset, offsets(log)) == (4, [4, 5, 6, 7])
    assert _retain(home, log) == 0


def test_when_all_is_too_old_the_active_segment_is_rolled_and_goes_too(home: Home) -> None:
    log = _filled(home, _with(retention_ms=1000))
    home.clock.advance(2000)
    assert _retain(home, log) == 5
    assert (log.log_start_offset, log.log_end_offset, log.size) == (10, 10, 0)
    assert append(log) == 10


def test_an_empty_log_is_left_alone(home: Home) -> None:
    log = home.open(_with(retention_ms=0, retention_bytes=0))
    home.clock.advance(10_000)
    assert _retain(home, log) == 0
    assert len(log.segments) == 1


@pytest.mark.parametrize(("excess", "gone"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (9, 4)])
def test_whole_segments_beyond_retention_bytes_go(home: Home, excess: int, gone: int) -> None:
    size = len(batch(1, size=200))
    log = _filled(home, SEGMENT)
    log.config = _with(retention_bytes=(10 - excess) * size)
    assert _retain(home, log) == gone
    assert log.log_start_offset == 2 * gone


def test_nothing_above_the_high_watermark_goes(home: Home) -> None:
    log = home.open(_with(retention_ms=0))
    for _ in range(10):
        append(log, size=200, timestamp=1)
    log.advance_high_watermark(5)
    assert _retain(home, log) == 2
    assert log.log_start_offset == 4


def test_compacted_topics_keep_what_is_old(home: Home) -> None:
    settings: dict[str, Any] = {"retention_ms": 1, "retention_bytes": 1}
    log = _filled(home, _with(cleanup_policy=frozenset({"compact"}), **settings))
    home.clock.advance(1000)
    assert _retain(home, log) == 0
    log.config = _with(cleanup_policy=frozenset({"compact", "delete"}), **settings)
    assert _retain(home, log) == 5


@pytest.mark.parametrize("policy", [{"delete"}, {"compact"}, set()])
def test_what_was_deleted_by_request_goes_under_every_policy(home: Home, policy: set[str]) -> None:
    log = _filled(home, _with(cleanup_policy=frozenset(policy)))
    log.advance_log_start_offset(5)
    assert _retain(home, log) == 2
    assert (log.log_start_offset, log.segments.first.base_offset) == (5, 4)


def test_records_without_timestamps_are_as_old_as_their_file(home: Home) -> None:
    log = home.open(_with(retention_ms=1000))
    append(log, size=200, timestamp=-2)
    log.advance_high_watermark(1)
    home.clock.advance(900)
    assert _retain(home, log) == 0
    home.clock.advance(200)
    assert _retain(home, log) == 1


def test_a_segment_is_renamed_first_and_removed_after_the_delay(home: Home) -> None:
    log = _filled(home, _with(retention_ms=1000, file_delete_delay_ms=500), 4)
    home.clock.advance(2000)
    _retain(home, log)
    deleted = [name for name in home.disk.list(home.path) if name.endswith(".deleted")]
    assert len(deleted) == 6
    home.clock.advance(499)
    assert set(deleted) <= set(home.disk.list(home.path))
    home.clock.advance(1)
    assert not [name for name in home.disk.list(home.path) if name.endswith(".deleted")]


def test_a_consumer_reads_on_what_is_removed_meanwhile(home: Home) -> None:
    log = _filled(home, _with(retention_ms=1000, file_delete_delay_ms=0))
    found = log.read(0, 10_000, upper=10)
    home.clock.advance(2000)
    _retain(home, log)
    home.clock.advance(1)
    assert len(found.slices[0].read()) == found.size
    found.slices[0].release()


def test_what_is_not_flushed_yet_goes_the_next_time() -> None:
    home = Home(holds_flushes=True)
    log = _filled(home, _with(retention_ms=1000))
    home.clock.advance(2000)
    assert _retain(home, log) == 0
    home.finish_flushes()
    assert _retain(home, log) == 5


def test_their_producer_snapshots_go_with_them(home: Home) -> None:
    log = _filled(home, _with(retention_ms=1000))
    assert log.snapshots.offsets == [2, 4, 6, 8]
    home.clock.advance(2000)
    _retain(home, log)
    assert log.snapshots.offsets == [10]


def test_a_segment_that_somebody_removed_is_a_disk_that_fails(home: Home) -> None:
    """Not a bug that ends the node: its directory goes offline, the others stay."""
    log = _filled(home, _with(retention_ms=1000))
    home.disk.remove(log.segments.first.path(".log"))
    home.clock.advance(2000)
    with pytest.raises(DiskFailed, match="removed"):
        _retain(home, log)
