import pytest

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.time import Instant
from kafkapy.kraft.log.copying import Copied, Copying
from kafkapy.kraft.log.snapshot_file import SnapshotId, snapshot_batches
from kafkapy.kraft.log.snapshots import Snapshots
from kafkapy.kraft.quorum.effects import SnapshotPiece
from kafkapy.kraft.records.metadata import FeatureLevelRecord
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

ID = SnapshotId(7, 1)
DATA = b"".join(
    snapshot_batches(
        [FeatureLevelRecord(name="metadata.version", feature_level=30)],
        epoch=1,
        metadata_version=30,
        last_contained_timestamp=5,
        now=Instant(9),
    )
)


class Kit:
    def __init__(self) -> None:
        self.disk = SimDisk()
        self.disk.make_directory("/log")
        self.clock = SimClock()
        self.snapshots = Snapshots(self.disk, "/log", SimRng(1))
        self.done: list[Copied | Corrupt | DiskFailed] = []
        self.copying = Copying(self.snapshots, self.clock, self.done.append)

    def copy(self, data: bytes) -> None:
        self.copying.begin(ID)
        for at in (0, 50, 100):
            piece = data[at : at + 50] if at < 100 else data[at:]
            self.copying.piece(SnapshotPiece(ID, at, len(data), piece))
        self.clock.settle()


def test_pieces_in_order_make_the_snapshot() -> None:
    kit = Kit()
    kit.copy(DATA)
    (copied,) = kit.done
    assert isinstance(copied, Copied)
    assert copied.contents.snapshot == ID
    assert (copied.contents.image.offset, copied.contents.image.metadata_version) == (6, 30)
    assert kit.snapshots.ids == []
    copied.file.take_its_name()
    assert kit.snapshots.ids == [ID]
    assert kit.disk.list("/log") == [ID.file_name]
    assert kit.disk.read_file(f"/log/{ID.file_name}") == DATA


def test_what_is_not_whole_leaves_nothing() -> None:
    kit = Kit()
    kit.copy(DATA[:120] + b"?" + DATA[121:])
    assert [type(one) for one in kit.done] == [Corrupt]
    assert kit.disk.list("/log") == []


@pytest.mark.parametrize("kind", ["flush", "read"])
def test_a_disk_that_fails_is_told(kind: str) -> None:
    kit = Kit()
    kit.disk.fail(kind)
    kit.copy(DATA)
    assert [type(one) for one in kit.done] == [DiskFailed]
    assert kit.disk.list("/log") == []


def test_who_is_told_may_do_without_it() -> None:
    kit = Kit()
    kit.copy(DATA)
    (copied,) = kit.done
    assert isinstance(copied, Copied)
    copied.file.abandon()
    assert kit.disk.list("/log") == []


def test_another_piece_than_the_next_is_corrupt() -> None:
    kit = Kit()
    kit.copying.begin(ID)
    for wrong in (SnapshotPiece(ID, 1, 5, b"x"), SnapshotPiece(SnapshotId(8, 1), 0, 5, b"x")):
        with pytest.raises(Corrupt):
            kit.copying.piece(wrong)


def test_a_copy_begun_anew_leaves_nothing_of_the_first() -> None:
    kit = Kit()
    kit.copying.begin(ID)
    kit.copying.begin(SnapshotId(9, 1))
    assert len(kit.disk.list("/log")) == 1
    kit.copying.abandon()
    assert kit.disk.list("/log") == []
    assert kit.done == []
