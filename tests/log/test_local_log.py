"""Flushing, closing, deleting: what is durable, and when it is said."""

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.segments.segment import Segment
from kafkapy.protocol.batches.batch import NewRecord, build_batch, read_header
from tests.log.support import TOPIC_ID, Answers, Home, append, files, offsets

CONFIG = LogConfig(retention_ms=-1)


@pytest.fixture
def home() -> Home:
    return Home(holds_flushes=True)


@pytest.fixture
def log(home: Home) -> PartitionLog:
    log = home.open(CONFIG, topic_id=TOPIC_ID)
    home.finish_flushes()
    return log


def test_flushed_means_up_to_where_it_was_asked(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    answers = Answers()
    log.flush(answers)
    append(log, 2)
    assert (log.flushed_offset, answers.errors) == (0, [])
    home.finish_flushes()
    assert (log.flushed_offset, answers.errors) == (3, [None])
    log.flush(answers)
    home.finish_flushes()
    assert log.flushed_offset == 5


def test_with_nothing_to_flush_the_answer_is_immediate(home: Home, log: PartitionLog) -> None:
    answers = Answers()
    log.flush(answers)
    assert answers.errors == [None]
    assert home.waiting == []


def test_the_epochs_are_durable_before_anything_is(home: Home, log: PartitionLog) -> None:
    append(log, leader_epoch=4)
    home.disk.fail("write_file", in_path="leader-epoch")
    answers, heard = Answers(), Answers()
    log.events.on_disk_failed = heard
    log.flush(answers)
    home.finish_flushes()
    assert log.flushed_offset == 0
    assert answers.errors[0] is not None
    assert heard.errors


def test_a_flush_that_fails_is_told_to_who_asked_and_who_watches(
    home: Home, log: PartitionLog
) -> None:
    append(log)
    home.disk.fail("flush", in_path=".log")
    answers, heard = Answers(), Answers()
    log.events.on_disk_failed = heard
    log.flush(answers)
    home.finish_flushes()
    assert isinstance(answers.errors[0], DiskFailed)
    assert answers.errors == heard.errors
    assert log.flushed_offset == 0


@pytest.mark.parametrize(
    ("flush_messages", "needs"), [(1, [True] * 4), (3, [False, False, True, True])]
)
def test_an_acknowledgement_waits_for_the_flush_the_topic_asks_for(
    home: Home, log: PartitionLog, flush_messages: int, needs: list[bool]
) -> None:
    log.config = LogConfig(flush_messages=flush_messages)
    seen = []
    for _ in range(4):
        append(log)
        seen.append(log.needs_flush_before_ack)
    assert seen == needs
    log.flush(Answers())
    home.finish_flushes()
    assert not log.needs_flush_before_ack


def test_nothing_stays_unflushed_longer_than_flush_ms(home: Home, log: PartitionLog) -> None:
    log.config = LogConfig(flush_ms=50)
    append(log)
    append(log)
    home.finish_flushes()
    home.clock.advance(49)
    assert home.waiting == []
    home.clock.advance(1)
    home.finish_flushes()
    assert log.flushed_offset == 2
    append(log)
    home.clock.advance(50)
    home.finish_flushes()
    assert log.flushed_offset == 3


def test_a_roll_flushes_and_moves_the_recovery_point(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    log.roll()
    assert len(log.segments) == 2
    assert log.recovery_point == 0
    home.finish_flushes()
    assert log.recovery_point == log.flushed_offset == 3
    log.roll()
    assert len(log.segments) == 2


def test_the_recovery_point_stays_with_a_segment_whose_indexes_are_not_durable(
    home: Home, log: PartitionLog
) -> None:
    """All records are flushed, then the segment is sealed: the next start must look at it."""
    append(log, 3)
    log.flush(Answers())
    home.finish_flushes()
    assert (log.flushed_offset, log.recovery_point) == (3, 2)
    log.roll()
    assert (log.flushed_offset, log.recovery_point) == (3, 2)
    home.finish_flushes()
    assert (log.flushed_offset, log.recovery_point) == (3, 3)


def test_a_flush_that_a_truncation_overtook_promises_nothing(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    log.flush(Answers())
    log.truncate_to(0)
    append(log, 3, leader_epoch=1)
    for _ in range(2):
        if home.waiting:
            home.waiting.pop(0)()
    assert log.flushed_offset == 0


def test_closed_cleanly_it_is_durable_to_its_end(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    answers = Answers()
    log.close(answers)
    assert answers.errors == []
    home.finish_flushes()
    assert answers.errors == [None]
    assert (log.recovery_point, log.is_closed) == (3, True)
    home.disk.crash(home.rng)
    assert offsets(home.open(CONFIG, is_clean=True, recovery_point=3)) == [0, 1, 2]


def test_an_untouched_log_is_closed_without_a_write(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    again = home.restart(log)
    before, flushes = files(home.disk, home.path), home.disk.flushes
    answers = Answers()
    again.close(answers)
    assert answers.errors == [None]
    assert (files(home.disk, home.path), home.disk.flushes) == (before, flushes)
    assert again.recovery_point == 3


def test_a_close_that_fails_says_so(home: Home, log: PartitionLog) -> None:
    append(log)
    home.disk.fail("flush", in_path=".timeindex")
    answers = Answers()
    log.close(answers)
    home.finish_flushes()
    assert answers.errors[0] is not None


def test_a_close_on_a_disk_that_is_gone_says_so(home: Home, log: PartitionLog) -> None:
    append(log)
    home.disk.lose(home.path)
    answers, heard = Answers(), Answers()
    log.events.on_disk_failed = heard
    log.close(answers)
    home.finish_flushes()
    assert isinstance(answers.errors[0], DiskFailed)
    assert heard.errors == answers.errors


def test_once_abandoned_nothing_is_reported(home: Home, log: PartitionLog) -> None:
    append(log)
    heard = Answers()
    log.events.on_disk_failed = heard
    log.flush(Answers())
    home.disk.fail("flush")
    log.abandon()
    home.finish_flushes()
    assert heard.errors == []


def test_the_topic_id_of_a_log_from_before_ids_is_adopted(home: Home) -> None:
    log = home.open(CONFIG)
    assert log.topic_id is None
    log.adopt_topic_id(TOPIC_ID)
    home.finish_flushes()
    log.abandon()
    assert home.open(CONFIG).topic_id == TOPIC_ID


def test_it_moves_with_its_directory(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    home.disk.rename(home.path, "/d/elsewhere-0")
    log.moved("/d/elsewhere-0")
    append(log, 2)
    log.roll()
    log.assign_epoch(9, 5)
    home.finish_flushes()
    assert offsets(log) == [0, 1, 2, 3, 4]
    assert home.disk.list("/d") == ["elsewhere-0"]


def test_idle_indexes_leave_memory(home: Home, log: PartitionLog) -> None:
    append(log, 3)
    log.roll()
    for _ in range(2):
        log.drop_idle_memory()
    assert all(segment._offsets is None for segment in log.segments)
    assert offsets(log) == [0, 1, 2]


def test_cleaned_segments_take_the_place_of_their_sources(home: Home) -> None:
    log = home.open(LogConfig(file_delete_delay_ms=100))
    for _ in range(4):
        append(log)
        log.roll()
    home.finish_flushes()
    cleaned = Segment.create(home.disk, home.path, 0, home.clock.now(), state=".cleaned")
    data = build_batch([NewRecord(value=b"x", timestamp=1)], base_offset=1)
    cleaned.append([data], [read_header(data)], 100)
    cleaned.seal()
    at_the_time: list[str] = []
    log.events.on_replacing = lambda: at_the_time.extend(home.disk.list(home.path))
    log.replace_segments([cleaned], list(log.segments)[:2])
    # The recovery point is made durable first: from there on a hole is damage.
    assert any(name.endswith(".cleaned") for name in at_the_time)
    assert offsets(log) == [1, 2, 3]
    names = home.disk.list(home.path)
    assert not [name for name in names if name.endswith((".swap", ".cleaned"))]
    assert len([name for name in names if name.endswith(".deleted")]) == 6
    assert log.snapshots.offsets == [2, 3, 4]
    home.clock.advance(100)
    assert not [name for name in home.disk.list(home.path) if name.endswith(".deleted")]


def test_producers_that_are_silent_for_long_are_forgotten(home: Home, log: PartitionLog) -> None:
    append(log, producer_id=5, producer_epoch=0, base_sequence=0, timestamp=home.clock.now())
    assert log.expire_producers(home.clock.now()) == 0
    home.clock.advance(86_400_000)
    assert log.expire_producers(home.clock.now()) == 1


def test_for_how_long_producers_are_kept_may_change(home: Home, log: PartitionLog) -> None:
    append(log, producer_id=5, producer_epoch=0, base_sequence=0, timestamp=home.clock.now())
    log.keep_producers_for(1000)
    assert log.expire_producers(home.clock.now()) == 0
    home.clock.advance(1000)
    assert log.expire_producers(home.clock.now()) == 1
