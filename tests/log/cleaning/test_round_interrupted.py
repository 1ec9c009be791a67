"""Rounds that do not end as they began: the log changes, the disk fails, the power goes."""

import pytest

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.seams import Callback
from kafkapy.log.cleaning.round import Aborted, CleaningRound
from kafkapy.log.names import CLEANED, LOG, SWAP
from tests.log.cleaning.kit import (
    Partition,
    SeededRng,
)

# -- a log that changes meanwhile


def interrupted(partition: Partition, change: Callback, at: int) -> bool:
    """Run a round, calling `change` after step `at`; whether the round gave up."""
    work = partition.round()
    try:
        for index, _ in enumerate(work.run()):
            if index == at:
                change()
    except Aborted:
        return True
    return False


def dirty_partition() -> Partition:
    partition = Partition()
    for number in range(12):
        partition.write((f"k{number % 4}", "v" * 200), pid=number % 2)
        if number % 3 == 2:
            partition.roll()
    return partition


def test_a_log_that_is_truncated_meanwhile_ends_the_round() -> None:
    """At every step up to the first swap; what an older record was to go for is gone, and
    the older record is still there."""
    at = 0
    while truncated_at_step(at):
        at += 1
    assert at > 18


def truncated_at_step(at: int) -> bool:
    """False: the step came after the first swap."""
    partition = dirty_partition()
    partition.write(("k0", "x"))
    originals = set(partition.log.segments)
    is_early = True

    def truncate() -> None:
        nonlocal is_early
        is_early = originals.issuperset(partition.log.segments)
        partition.log.truncate_to(5)

    assert interrupted(partition, truncate, at)
    assert partition.log.log_end_offset == 5
    assert not partition.names(CLEANED)
    if is_early:
        assert partition.offsets() == [0, 1, 2, 3, 4]
        partition.open()
        assert partition.log.log_end_offset == 5
    return is_early


@pytest.mark.parametrize("at", range(0, 24, 3))
def test_segments_that_are_deleted_meanwhile_do_not_come_back(at: int) -> None:
    partition = dirty_partition()
    end = partition.log.log_end_offset

    def delete() -> None:
        partition.log.advance_log_start_offset(7)
        partition.log.apply_retention(partition.clock.now())

    interrupted(partition, delete, at)
    if at < 24:
        delete()
    assert not partition.names(CLEANED)
    assert min(partition.offsets()) >= 6
    assert partition.log.log_end_offset == end


@pytest.mark.parametrize("at", range(0, 24, 4))
def test_appends_meanwhile_lose_nothing(at: int) -> None:
    partition = dirty_partition()

    def write() -> None:
        partition.write(("k0", "new"), ("n", "1"))
        partition.roll()

    assert not interrupted(partition, write, at)
    assert partition.table()[b"k0"] == b"new"
    assert partition.table()[b"n"] == b"1"


def test_a_round_that_is_aborted_leaves_no_files() -> None:
    partition = dirty_partition()
    before = partition.names()
    for at in range(12):
        work = partition.round()
        assert interrupted_by_abort(work, at)
        assert partition.names() == before


def interrupted_by_abort(work: CleaningRound, at: int) -> bool:
    try:
        for index, _ in enumerate(work.run()):
            if index == at:
                work.abort()
    except Aborted:
        return True
    return False


def test_a_round_that_is_dropped_leaves_no_files() -> None:
    partition = dirty_partition()
    before = partition.names()
    steps = partition.round().run()
    while not partition.names(CLEANED):
        next(steps)
    steps.close()
    assert partition.names() == before


# -- disks


def test_nothing_is_swapped_in_before_it_is_durable() -> None:
    """The flush is under way: the round waits, and asks to be resumed."""
    partition = dirty_partition()
    flushes: list[Callback] = []
    resumed: list[bool] = []
    partition.disk.run_later = flushes.append
    steps = partition.round(resume=lambda: resumed.append(True)).run()
    while next(steps) is not None:
        pass
    assert next(steps) is None
    assert not resumed
    assert not partition.names(SWAP)
    while flushes:
        flushes.pop(0)()
    assert resumed
    partition.disk.run_later = lambda then: then()
    for step in steps:
        assert step is not None


@pytest.mark.parametrize("kind", ["append", "flush", "create"])
def test_a_disk_that_fails_ends_the_round_with_the_log_as_it_was(kind: str) -> None:
    partition = dirty_partition()
    before = partition.contents()
    partition.disk.fail(kind, in_path=CLEANED)
    with pytest.raises(DiskFailed):
        partition.clean()
    assert partition.contents() == before


def test_bytes_that_cannot_be_read_end_the_round() -> None:
    partition = dirty_partition()
    first = partition.log.segments.first
    data = bytearray(partition.disk.read_file(first.path(LOG)))
    data[61] = 0xFF
    first.close()
    partition.disk.write_file(first.path(LOG), bytes(data))
    before = partition.names()
    with pytest.raises(Corrupt):
        partition.clean()
    assert partition.names() == before


class PowerCut(Exception):
    pass


@pytest.mark.parametrize("seed", range(4))
def test_a_crash_at_any_change_of_the_disk_loses_nothing(seed: int) -> None:
    """Everything was flushed; then a round runs and the power goes at its nth change."""
    cuts = 0
    while True:
        partition = dirty_partition()
        partition.end(1, commit=False)
        partition.roll()
        partition.flush()
        end, expected = partition.log.log_end_offset, partition.table()
        left = cuts

        def cut(kind: str, path: str, more_bytes: int) -> None:
            nonlocal left
            if left == 0:
                raise PowerCut
            left -= 1

        partition.disk.on_write = cut
        try:
            partition.clean()
        except PowerCut:
            partition.disk.on_write = None
            partition.disk.crash(SeededRng(seed * 1000 + cuts))
            partition.open(recovery_point=end)
            assert partition.table() == expected, f"cut {cuts}"
            assert partition.log.log_end_offset == end
            assert not partition.names(CLEANED) + partition.names(SWAP)
            cuts += 1
        else:
            break
    assert cuts > 20


def test_files_of_a_dead_round_are_gone_after_a_restart() -> None:
    partition = dirty_partition()
    partition.flush()
    steps = partition.round().run()
    while not partition.names(CLEANED):
        next(steps)
    expected = partition.table()
    partition.open(recovery_point=partition.log.log_end_offset)
    assert not partition.names(CLEANED)
    assert partition.table() == expected
