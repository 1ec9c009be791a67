"""The cleaner of a log directory: rounds in slices, its checkpoint, pauses and failures."""

import struct

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Callback
from kafkapy.log.cleaning.cleaner import Cleaned, Cleaner, CleanerSettings
from kafkapy.log.directories.checkpoints import read_offsets
from kafkapy.log.names import CLEANED, CLEANER_CHECKPOINT, LOG, OFFSET_INDEX
from tests.log.cleaning.kit import BASE, TP, Partition, config

OTHER = TopicPartition("other", 3)


class Home:
    """A directory with one compacted partition and its cleaner."""

    def __init__(self, partition: Partition | None = None, **settings: object) -> None:
        self.partition = partition or dirty()
        self.finished: list[Cleaned] = []
        self.failures: list[DiskFailed] = []
        self.given_up: list[tuple[TopicPartition, Exception]] = []
        self.cleaner = Cleaner(
            self.partition.disk,
            self.partition.clock,
            BASE,
            lambda: [self.partition.log],
            settings=CleanerSettings(**settings),  # type: ignore[arg-type]  # names are its own
            finished=self.finished.append,
            gave_up=lambda topic_partition, error: self.given_up.append((topic_partition, error)),
            failed=self.failures.append,
        )

    def run(self, turns: int = 1_000_000) -> int:
        return self.partition.clock.run(turns)

    def checkpoint(self) -> dict[TopicPartition, int]:
        return read_offsets(self.partition.disk, f"{BASE}/{CLEANER_CHECKPOINT}")


def dirty() -> Partition:
    partition = Partition(config(segment_bytes=100_000))
    for _ in range(30):
        partition.write(*((f"k{key}", "v" * 100) for key in range(50)))
    partition.roll()
    return partition


def test_a_tick_cleans_in_slices_and_notes_how_far() -> None:
    home = Home()
    home.cleaner.tick()
    assert home.cleaner.cleaning == TP
    assert home.run() > 5
    assert home.cleaner.cleaning is None
    assert home.checkpoint() == {TP: 1500}
    assert home.cleaner.first_dirty_offset(TP) == 1500
    assert home.partition.offsets() == list(range(1450, 1500))
    (cleaned,) = home.finished
    assert (cleaned.first_dirty_offset, cleaned.end_offset) == (0, 1500)
    assert cleaned.bytes_written < cleaned.bytes_read


def test_others_run_between_the_slices() -> None:
    home = Home()
    seen: list[int] = []

    def other() -> None:
        seen.append(len(home.finished))
        if not home.finished:
            home.partition.clock.call_soon(other)

    home.cleaner.tick()
    home.partition.clock.call_soon(other)
    home.run()
    assert seen.count(0) > 5


def test_a_clean_log_is_left_alone() -> None:
    home = Home()
    home.cleaner.tick()
    home.run()
    before = home.partition.names()
    home.cleaner.tick()
    assert home.cleaner.cleaning is None
    assert home.run() == 0
    assert home.partition.names() == before


def test_rounds_follow_one_another_while_a_log_is_dirty() -> None:
    home = Home(dedupe_buffer_size=30 * 192 * 10 // 9 + 1)
    home.cleaner.tick()
    home.run()
    # Not one batch of 50 keys fits: no use to try again before the next tick.
    assert [(one.end_offset, one.map_fullness) for one in home.finished] == [(0, 1.0)]
    home = Home(dedupe_buffer_size=60 * 192 * 10 // 9 + 1)
    for key in range(3):
        home.partition.write(*((f"{key}-{n}", "x" * 300) for n in range(40)))
        home.partition.roll()
    home.cleaner.tick()
    home.run()
    ends = [cleaned.end_offset for cleaned in home.finished]
    assert len(ends) > 1
    assert ends == sorted(ends)
    assert ends[-1] == home.partition.log.log_end_offset


def test_a_disabled_cleaner_does_nothing() -> None:
    home = Home(is_enabled=False)
    home.cleaner.tick()
    assert home.run() == 0


def test_logs_that_only_delete_are_not_cleaned() -> None:
    home = Home()
    home.partition.log.config = config(cleanup_policy=frozenset({"delete"}))
    home.cleaner.tick()
    assert home.run() == 0


def test_the_checkpoint_of_before_the_restart_is_used() -> None:
    home = Home()
    home.cleaner.tick()
    home.run()
    again = Home(home.partition)
    assert again.cleaner.first_dirty_offset(TP) == 1500
    again.cleaner.tick()
    assert again.run() == 0


def test_a_paused_partition_waits() -> None:
    home = Home()
    before = home.partition.names()
    home.cleaner.tick()
    home.run(turns=4)
    home.cleaner.pause(TP)
    assert home.cleaner.cleaning is None
    assert home.partition.names() == before
    home.run()
    home.cleaner.tick()
    assert home.run() == 0
    home.cleaner.unpause(TP)
    home.cleaner.tick()
    home.run()
    assert home.checkpoint() == {TP: 1500}


def test_an_aborted_round_starts_over_at_the_next_tick() -> None:
    home = Home()
    home.cleaner.tick()
    home.run(turns=6)
    home.cleaner.abort(OTHER)
    assert home.cleaner.cleaning == TP
    home.cleaner.abort(TP)
    home.cleaner.tick()
    home.run()
    assert [cleaned.end_offset for cleaned in home.finished] == [1500]
    assert not home.partition.names(CLEANED)


def test_an_abort_from_within_a_slice_is_heeded() -> None:
    home = Home()
    disk = home.partition.disk

    def abort(kind: str, path: str, more_bytes: int) -> None:
        if kind == "append" and CLEANED in path:
            disk.on_write = None
            home.cleaner.abort(TP)

    disk.on_write = abort
    home.cleaner.tick()
    home.run()
    assert not home.finished
    assert not home.partition.names(CLEANED)
    assert home.cleaner.cleaning is None


def test_a_truncation_makes_dirty_what_follows_it() -> None:
    home = Home()
    home.cleaner.tick()
    home.run()
    home.cleaner.truncated(TP, 2000)
    assert home.checkpoint() == {TP: 1500}
    home.cleaner.truncated(TP, 700)
    assert home.checkpoint() == {TP: 700}
    home.cleaner.truncated(OTHER, 0)
    assert home.checkpoint() == {TP: 700}


def test_a_log_that_moves_takes_its_offset_along() -> None:
    home = Home()
    home.cleaner.tick()
    home.run()
    assert home.cleaner.removed(TP) == 1500
    assert home.checkpoint() == {}
    assert home.cleaner.removed(TP) is None
    home.cleaner.added(TP, 1500)
    assert home.checkpoint() == {TP: 1500}


def test_a_log_that_cannot_be_read_is_left_alone_and_named() -> None:
    home = Home()
    first = home.partition.log.segments.first
    home.partition.flush()
    data = bytearray(home.partition.disk.read_file(first.path(LOG)))
    data[61] = 0xFF
    first.close()
    home.partition.disk.write_file(first.path(LOG), bytes(data))
    home.cleaner.tick()
    home.run()
    assert set(home.cleaner.uncleanable) == {TP}
    assert [topic_partition for topic_partition, _ in home.given_up] == [TP]
    assert not home.finished
    assert not home.failures
    home.cleaner.tick()
    assert home.run() == 0


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "raised", [struct.error("q"), OverflowError(), MemoryError(), IndexError(), ValueError()]
)
def test_whatever_reading_a_batch_raises_costs_its_partition_alone(
    raised: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> object:
        raise raised

    home = Home()
    monkeypatch.setattr("kafkapy.log.cleaning.round.map_keys", read)
    home.cleaner.tick()
    home.run()
    assert home.given_up == [(TP, raised)]
    assert home.cleaner.cleaning is None
    assert not home.failures
    home.cleaner.tick()
    assert home.run() == 0


def test_a_disk_that_fails_is_reported_and_stops_the_cleaner() -> None:
    home = Home()
    home.partition.flush()
    home.partition.disk.fail("append", in_path=CLEANED)
    home.cleaner.tick()
    home.run()
    assert len(home.failures) == 1
    home.cleaner.tick()
    assert home.run() == 0


def test_a_checkpoint_that_cannot_be_written_is_a_failure_too() -> None:
    home = Home()
    home.partition.flush()
    home.partition.disk.fail("write_file", in_path=CLEANER_CHECKPOINT)
    home.cleaner.tick()
    home.run()
    assert len(home.failures) == 1


def test_a_stopped_cleaner_leaves_no_files_and_never_starts_again() -> None:
    home = Home()
    before = home.partition.names()
    home.cleaner.tick()
    while not home.partition.names(CLEANED):
        home.run(turns=1)
    home.cleaner.stop()
    assert home.partition.names() == before
    home.run()
    home.cleaner.tick()
    assert home.run() == 0


def test_flushes_are_waited_for_without_turning_the_loop() -> None:
    home = Home()
    waiting: list[Callback] = []
    home.partition.flush()
    home.partition.disk.run_later = waiting.append
    home.cleaner.tick()
    home.run()
    assert home.cleaner.cleaning == TP
    assert waiting
    assert not home.partition.clock.ready
    while waiting or home.partition.clock.ready:
        while waiting:
            waiting.pop(0)()
        home.run()
    assert home.finished


def test_a_rate_is_kept_by_waiting_between_slices() -> None:
    home = Home(io_max_bytes_per_second=1_000_000.0)
    clock = home.partition.clock
    home.cleaner.tick()
    slept = 0
    while not home.finished:
        home.run()
        if clock.later:
            when, then = clock.later.pop(0)
            slept += 1
            clock.time = max(clock.time, when)
            then()
    assert slept > 3


def test_a_log_whose_index_somebody_removed_is_given_up() -> None:
    home = Home()
    home.partition.disk.remove(home.partition.log.segments.first.path(OFFSET_INDEX))
    home.cleaner.tick()
    home.run()
    assert [tp for tp, _ in home.given_up] == [TP]
    assert home.failures == []
