import pytest

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.time import Instant
from kafkapy.kraft.log.snapshot_file import SnapshotId, snapshot_batches
from kafkapy.kraft.log.snapshots import Snapshots
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

HOME = "/log"


def disk() -> SimDisk:
    made = SimDisk()
    made.make_directory(HOME)
    return made


def snapshots(on: SimDisk, log_start_offset: int = 0) -> Snapshots:
    found = Snapshots(on, HOME, SimRng(1))
    found.recover(log_start_offset)
    return found


def written(end_offset: int, timestamp: int = 0) -> bytes:
    return b"".join(
        snapshot_batches(
            (),
            epoch=1,
            metadata_version=30,
            last_contained_timestamp=timestamp,
            now=Instant(end_offset),
        )
    )


def with_snapshots(*ends: int, age: int = 0) -> tuple[SimDisk, Snapshots]:
    made = disk()
    for end in ends:
        made.write_file(f"{HOME}/{SnapshotId(end, 1).file_name}", written(end, end * age))
    return made, snapshots(made)


def test_a_snapshot_is_there_once_it_is_finished() -> None:
    made = disk()
    found = snapshots(made)
    unfinished = found.create(SnapshotId(5, 2))
    unfinished.append(written(5))
    assert found.latest is None
    assert made.list(HOME)[0].endswith(".checkpoint.part")
    done: list[DiskFailed | None] = []
    unfinished.finish(done.append)
    assert done == [None]
    assert found.latest == SnapshotId(5, 2)
    assert made.list(HOME) == [SnapshotId(5, 2).file_name]
    assert found.size(SnapshotId(5, 2)) == len(written(5))


def test_what_is_abandoned_leaves_nothing() -> None:
    made = disk()
    found = snapshots(made)
    unfinished = found.create(SnapshotId(5, 2))
    unfinished.append(b"x")
    unfinished.abandon()
    assert made.list(HOME) == []


def test_what_is_abandoned_while_it_is_flushed_leaves_nothing() -> None:
    later: list[object] = []
    made = SimDisk(run_later=later.append)
    made.make_directory(HOME)
    found = snapshots(made)
    unfinished = found.create(SnapshotId(5, 2))
    done: list[DiskFailed | None] = []
    unfinished.finish(done.append)
    unfinished.abandon()
    for then in later:
        assert callable(then)
        then()
    assert (made.list(HOME), found.ids, done) == ([], [], [])


def test_a_failed_flush_makes_no_snapshot() -> None:
    made = disk()
    found = snapshots(made)
    unfinished = found.create(SnapshotId(5, 2))
    made.fail("flush", in_path=".part")
    done: list[DiskFailed | None] = []
    unfinished.finish(done.append)
    assert isinstance(done[0], DiskFailed)
    assert found.ids == []


def test_a_start_removes_what_was_not_finished_or_is_not_needed() -> None:
    made, _ = with_snapshots(5, 9)
    for name in ("0-0.checkpoint.part", "0-0.checkpoint.deleted", "quorum-state"):
        made.write_file(f"{HOME}/{name}", b"")
    found = snapshots(made, log_start_offset=7)
    assert found.ids == [SnapshotId(9, 1)]
    assert made.list(HOME) == [SnapshotId(9, 1).file_name, "quorum-state"]


def test_a_log_that_begins_late_needs_a_snapshot() -> None:
    with pytest.raises(Corrupt, match="begins at 7"):
        snapshots(disk(), log_start_offset=7)


def test_snapshots_are_ordered_by_offset_then_epoch() -> None:
    made = disk()
    for one in (SnapshotId(10, 1), SnapshotId(9, 2), SnapshotId(9, 1)):
        made.write_file(f"{HOME}/{one.file_name}", b"")
    found = snapshots(made)
    assert found.ids == [SnapshotId(9, 1), SnapshotId(9, 2), SnapshotId(10, 1)]
    assert found.earliest == SnapshotId(9, 1)


def test_old_ones_go_while_they_take_too_much_room() -> None:
    _, found = with_snapshots(0, 5, 9, age=1000)
    size = len(written(5))

    def removable(max_bytes: int) -> list[int]:
        ids = found.removable(log_size=100, max_bytes=max_bytes, oldest_timestamp=-1)
        return [one.end_offset for one in ids]

    assert removable(100 + 3 * size) == []
    assert removable(100 + 3 * size - 1) == [0]
    assert removable(100) == [0, 5]
    assert removable(0) == [0, 5]
    assert removable(-1) == []


def test_old_ones_go_when_they_are_too_old() -> None:
    _, found = with_snapshots(1, 5, 9, age=1000)
    assert found.removable(log_size=0, max_bytes=-1, oldest_timestamp=1001) == [SnapshotId(1, 1)]
    ids = found.removable(log_size=0, max_bytes=-1, oldest_timestamp=10**9)
    assert ids == [SnapshotId(1, 1), SnapshotId(5, 1)]


def test_a_damaged_one_goes_as_if_it_were_old() -> None:
    made, found = with_snapshots(1, 5, 9)
    made.write_file(f"{HOME}/{SnapshotId(1, 1).file_name}", b"?" * 100)
    ids = found.removable(log_size=0, max_bytes=-1, oldest_timestamp=-1)
    assert ids == [SnapshotId(1, 1)]


def test_removed_ones_are_gone() -> None:
    made, found = with_snapshots(1, 5)
    found.remove([SnapshotId(1, 1)])
    assert found.earliest == SnapshotId(5, 1)
    assert made.list(HOME) == [SnapshotId(5, 1).file_name]
