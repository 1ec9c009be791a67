"""A copy of a log in another directory catches up."""

import pytest

from kafkapy.core.byte_rate import NO_LIMIT, ByteRate
from kafkapy.core.errors import DiskFailed
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.moving import Move
from kafkapy.log.partition_log import PartitionLog
from tests.log.support import ORDERS, Home, append, offsets

CONFIG = LogConfig(retention_ms=-1)


class Kit:
    def __init__(self, max_bytes_per_second: int = NO_LIMIT) -> None:
        self.home = Home()
        self.current = self.home.open(CONFIG)
        self.finished: list[Move] = []
        self.failed: list[DiskFailed] = []
        self.future = PartitionLog.open(
            self.home.disk,
            self.home.clock,
            self.home.rng,
            f"/d/orders-0.{'0' * 32}-future",
            ORDERS,
            CONFIG,
            is_clean=False,
        )
        self.move = Move(
            self.home.clock,
            self.current,
            self.future,
            rate=ByteRate(max_bytes_per_second),
            finished=self.finished.append,
            failed=self.failed.append,
        )


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_it_hands_over_when_it_has_everything_flushed(kit: Kit) -> None:
    append(kit.current, 3)
    kit.current.flush(lambda _: None)
    kit.move.start()
    kit.home.clock.settle()
    assert kit.finished == [kit.move]
    assert offsets(kit.future) == [0, 1, 2]
    assert kit.future.flushed_offset == 3


def test_epochs_without_records_come_along(kit: Kit) -> None:
    append(kit.current, leader_epoch=1)
    kit.current.assign_epoch(4, 1)
    kit.move.start()
    kit.home.clock.settle()
    assert list(kit.future.epochs) == [(1, 0), (4, 1)]


def test_it_goes_no_faster_than_allowed() -> None:
    kit = Kit(max_bytes_per_second=1000)
    append(kit.current, size=2000)
    kit.move.start()
    kit.home.clock.advance(2000)
    assert kit.finished == []
    kit.home.clock.advance(200)
    assert kit.finished == [kit.move]


def test_stopped_it_does_nothing_more(kit: Kit) -> None:
    append(kit.current)
    kit.move.start()
    kit.move.stop()
    kit.home.clock.settle()
    assert (kit.finished, kit.future.log_end_offset) == ([], 0)


def test_a_disk_that_fails_ends_it(kit: Kit) -> None:
    append(kit.current)
    kit.home.disk.fail("append", in_path="-future")
    kit.move.start()
    kit.home.clock.settle()
    assert len(kit.failed) == 1
    assert kit.finished == []


def test_what_was_truncated_and_written_anew_is_copied_anew(kit: Kit) -> None:
    append(kit.current, 2, leader_epoch=0)
    append(kit.current, 2, leader_epoch=1)
    kit.move._copy_piece()
    assert kit.future.log_end_offset == 4
    kit.current.truncate_to(2)
    append(kit.current, 5, leader_epoch=2)
    kit.move.start()
    kit.home.clock.settle()
    assert list(kit.future.epochs) == [(0, 0), (2, 2)]
    assert offsets(kit.future) == list(range(7))


def test_a_copy_behind_the_log_start_begins_again(kit: Kit) -> None:
    append(kit.current, 2)
    kit.move._copy_piece()
    for _ in range(3):
        append(kit.current, 2)
        kit.current.roll()
    kit.current.advance_high_watermark(8)
    kit.current.advance_log_start_offset(6)
    kit.move.start()
    kit.home.clock.settle()
    assert (kit.future.log_start_offset, kit.future.log_end_offset) == (6, 8)


def test_a_copy_cut_back_to_below_the_log_start_begins_again(kit: Kit) -> None:
    """The current log was cut, written anew and its records deleted, up to the middle of what is
    one batch in the copy."""
    append(kit.current, 10, leader_epoch=0)
    append(kit.current, 10, leader_epoch=0)
    kit.move._copy_piece()
    kit.current.truncate_to(10)
    append(kit.current, 10, leader_epoch=1)
    kit.current.advance_high_watermark(20)
    kit.current.advance_log_start_offset(15)
    kit.move.start()
    kit.home.clock.advance(60_000)
    assert kit.finished == [kit.move]
    assert (kit.future.log_start_offset, kit.future.log_end_offset) == (15, 20)
    assert list(kit.future.epochs) == [(1, 15)]
