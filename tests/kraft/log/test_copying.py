import pytest

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.kraft.log.copying import Copying
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.log.snapshots import Snapshots
from kafkapy.kraft.quorum.effects import SnapshotPiece
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

ID = SnapshotId(7, 1)


def kit() -> tuple[SimDisk, Snapshots, Copying]:
    disk = SimDisk()
    disk.make_directory("/log")
    snapshots = Snapshots(disk, "/log", SimRng(1))
    return disk, snapshots, Copying(snapshots)


def test_pieces_in_order_make_the_snapshot() -> None:
    disk, snapshots, copying = kit()
    done: list[DiskFailed | None] = []
    copying.begin(ID)
    copying.piece(SnapshotPiece(ID, 0, 5, b"abc"), done.append)
    assert done == []
    copying.piece(SnapshotPiece(ID, 3, 5, b"de"), done.append)
    assert done == [None]
    assert snapshots.ids == [ID]
    assert disk.read_file(f"/log/{ID.file_name}") == b"abcde"


def test_another_piece_than_the_next_is_corrupt() -> None:
    _, _, copying = kit()
    copying.begin(ID)
    for wrong in (SnapshotPiece(ID, 1, 5, b"x"), SnapshotPiece(SnapshotId(8, 1), 0, 5, b"x")):
        with pytest.raises(Corrupt):
            copying.piece(wrong, lambda failure: None)


def test_a_copy_begun_anew_leaves_nothing_of_the_first() -> None:
    disk, _, copying = kit()
    copying.begin(ID)
    copying.begin(SnapshotId(9, 1))
    assert len(disk.list("/log")) == 1
    copying.abandon()
    assert disk.list("/log") == []
