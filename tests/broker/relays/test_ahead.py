"""What is due soon is read before it is due: together, in pieces, as far as there is room."""

from random import Random

from kafkapy.broker.relays.ahead import AHEAD_MS, Ahead
from kafkapy.broker.relays.reading import Recent
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import build_batch
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.relays.progress import offset_of, start_at
from kafkapy.relays.rule import DELIVER_AT, Rule
from kafkapy.relays.schedule import Schedule
from tests.log.support import Home

PER_BATCH, COUNT, SPAN_MS = 50, 1_000, 10_000
MOST_US = 1 << 40


def filled(value: bytes = b"") -> tuple[PartitionLog, Schedule]:
    """Each is due at a moment of its own in the ten seconds after 0."""
    log, chance = Home().open(), Random(1)
    for first in range(0, COUNT, PER_BATCH):
        new = [
            NewRecord(None, b"%d " % (first + one) + value, 7, ((DELIVER_AT, b"%d" % due),))
            for one in range(PER_BATCH)
            for due in [chance.randrange(SPAN_MS)]
        ]
        log.append_as_leader(memoryview(build_batch(new)), leader_epoch=0)
    log.advance_high_watermark(COUNT)
    schedule = Schedule(Rule("out"), start_at(0), 2 * COUNT)
    assert schedule.pass_from(0, COUNT) == 0
    assert schedule.passed_to(0)
    found = Recent()
    for offset in range(COUNT):
        record, _ = found.find(log, offset)
        assert record is not None
        schedule.look_at(record, -1)
    schedule.looked_to(COUNT)
    return log, schedule


def value_of(record: Record | None) -> bytes:
    assert record is not None
    assert record.value is not None
    return record.value.split(b" ")[0]


def test_one_sweep_finds_what_is_due_within_seconds_and_the_next_comes_before_that_is_over() -> (
    None
):
    log, schedule = filled()
    ahead = Ahead()
    list(ahead.begin(schedule, 0, 1 << 20))
    assert all(cost < 1_000 for cost in ahead.sweep(log, MOST_US)), "in pieces"
    soon = schedule.due(AHEAD_MS, COUNT)
    assert 200 < len(soon) < 400
    assert all(entry in ahead for entry in soon)
    assert not ahead.is_time(100)
    assert ahead.is_time(AHEAD_MS * 2 // 3)
    for entry in soon:
        assert value_of(ahead.take(entry)) == b"%d" % offset_of(entry)
        schedule.leaves(entry, None)
    list(ahead.begin(schedule, AHEAD_MS * 2 // 3, 1 << 20))
    assert ahead.is_sweeping
    list(ahead.sweep(log, MOST_US))
    assert not ahead.is_sweeping
    assert schedule.due(AHEAD_MS * 5 // 3, 1)[0] in ahead


def test_a_clock_that_is_set_back_or_a_finished_pass_is_time_for_another() -> None:
    log, schedule = filled()
    ahead = Ahead()
    list(ahead.begin(schedule, 5_000, 1 << 20))
    list(ahead.sweep(log, MOST_US))
    for entry in schedule.due(5_000 + AHEAD_MS, COUNT):
        ahead.take(entry)
    assert not ahead.is_time(5_000)
    assert ahead.is_time(1_000)
    ahead.is_stale()
    assert ahead.is_time(5_000)


def test_large_records_are_read_a_few_at_a_time_and_the_one_that_is_due_in_any_case() -> None:
    log, schedule = filled(bytes(2_000))
    ahead, room = Ahead(), 30_000
    due = schedule.due(AHEAD_MS, COUNT)
    left = list(due)
    sweeps = most = 0
    while left:
        if left[0] not in ahead:
            list(ahead.begin(schedule, 0, room))
            list(ahead.sweep(log, MOST_US))
            list(ahead.read(log, left[:500]))
            sweeps += 1
        most = max(most, sum(entry in ahead for entry in due))
        entry = left.pop(0)
        assert value_of(ahead.take(entry)) == b"%d" % offset_of(entry)
        schedule.leaves(entry, None)
    assert most * 2_000 < 2 * room
    assert sweeps < len(due) / 5
