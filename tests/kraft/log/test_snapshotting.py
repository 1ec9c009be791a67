from kafkapy.core.errors import DiskFailed
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.snapshot_file import SnapshotId, read_snapshot
from kafkapy.kraft.log.snapshots import Snapshots
from kafkapy.kraft.log.snapshotting import (
    LONG_REPLAY_BYTES,
    SETTLE_MS,
    SnapshotSettings,
    Snapshotting,
)
from kafkapy.kraft.quorum.voters import VoterSet
from kafkapy.kraft.records.metadata import FeatureLevelRecord, TopicRecord
from kafkapy.kraft.uuids import new_uuid
from kafkapy.sim.world.rng import SimRng
from tests.kraft.support import LOG, World

TOPIC = TopicRecord(name="a", topic_id=new_uuid(SimRng(1)))


class Kit:
    def __init__(self, settings: SnapshotSettings) -> None:
        self.world = World(slow=True)
        self.world.disk.make_directory(LOG)
        self.snapshots = Snapshots(self.world.disk, LOG, SimRng(2))
        self.finished: list[tuple[SnapshotId, DiskFailed | None]] = []
        self.snapshotting = Snapshotting(
            self.snapshots,
            self.world.clock,
            settings,
            lambda snapshot, failure: self.finished.append((snapshot, failure)),
        )
        self.image = MetadataImage()
        self.image.apply(FeatureLevelRecord(name="metadata.version", feature_level=30))
        self.image.offset, self.image.epoch = 9, 2

    def begin(self) -> None:
        self.snapshotting.begin(self.image, 0, VoterSet())


def test_it_is_due_after_enough_bytes() -> None:
    kit = Kit(SnapshotSettings(max_new_record_bytes=100, max_interval_ms=0))
    kit.snapshotting.applied(99)
    kit.world.clock.advance(10**9)
    assert not kit.snapshotting.is_due()
    kit.snapshotting.applied(1)
    assert kit.snapshotting.is_due()


def test_it_is_due_after_enough_time_with_anything_new() -> None:
    kit = Kit(SnapshotSettings(max_interval_ms=1000))
    kit.world.clock.advance(1000)
    assert not kit.snapshotting.is_due()
    kit.snapshotting.applied(1)
    assert kit.snapshotting.is_due()


def test_after_a_long_replay_one_is_due_once_the_start_has_settled() -> None:
    kit = Kit(SnapshotSettings(max_interval_ms=0))
    looked: list[bool] = []
    kit.snapshotting.applied(LONG_REPLAY_BYTES)
    kit.snapshotting.replayed(lambda: looked.append(kit.snapshotting.is_due()))
    kit.world.clock.advance(SETTLE_MS - 1)
    assert (looked, kit.snapshotting.is_due()) == ([], False)
    kit.world.clock.advance(1)
    assert looked == [True]
    kit.begin()
    kit.world.clock.settle()
    kit.snapshotting.applied(1)
    assert not kit.snapshotting.is_due()


def test_a_short_replay_is_no_reason() -> None:
    kit = Kit(SnapshotSettings(max_interval_ms=0))
    kit.snapshotting.applied(LONG_REPLAY_BYTES - 1)
    kit.snapshotting.replayed(lambda: None)
    kit.world.clock.advance(10 * SETTLE_MS)
    assert not kit.snapshotting.is_due()


def test_the_image_may_change_while_it_is_written() -> None:
    kit = Kit(SnapshotSettings())
    kit.snapshotting.applied(10**9)
    kit.begin()
    assert not kit.snapshotting.is_due(), "one at a time"
    kit.image.apply(TOPIC)
    kit.world.clock.settle()
    assert kit.finished == [(SnapshotId(10, 2), None)]
    written = [
        one
        for batch in read_snapshot(kit.snapshots.open(SnapshotId(10, 2)))
        for one in batch.records
    ]
    assert written == [FeatureLevelRecord(name="metadata.version", feature_level=30)]


def test_a_snapshot_that_is_there_is_not_written_again() -> None:
    kit = Kit(SnapshotSettings())
    kit.begin()
    kit.world.clock.settle()
    kit.begin()
    kit.world.clock.settle()
    assert len(kit.finished) == 1


def test_what_is_abandoned_is_never_finished() -> None:
    kit = Kit(SnapshotSettings())
    kit.begin()
    kit.snapshotting.abandon()
    kit.world.clock.settle()
    assert (kit.finished, kit.world.disk.list(LOG)) == ([], [])


def test_a_full_disk_is_told() -> None:
    kit = Kit(SnapshotSettings())
    kit.world.disk.fail("append", in_path=".part", nth=2, cause="full")
    kit.begin()
    kit.world.clock.settle()
    ((snapshot, failure),) = kit.finished
    assert snapshot == SnapshotId(10, 2)
    assert failure is not None
    assert failure.cause == "full"


def test_one_that_cannot_even_be_begun_is_told() -> None:
    kit = Kit(SnapshotSettings())
    kit.world.disk.fail("create", in_path=".part")
    kit.begin()
    (told,) = kit.finished
    assert told[0] == SnapshotId(10, 2)
    assert isinstance(told[1], DiskFailed)
    kit.begin()
    kit.world.clock.advance(1000)
    assert kit.snapshots.ids == [SnapshotId(10, 2)]


def test_one_is_abandoned_on_a_disk_that_is_gone() -> None:
    kit = Kit(SnapshotSettings())
    kit.begin()
    kit.world.disk.lose(LOG)
    kit.snapshotting.abandon()
    kit.world.disk.mend()
    kit.world.clock.advance(1000)
    again = Snapshots(kit.world.disk, LOG, SimRng(2))
    again.recover(0)
    assert again.ids == []
    assert not [name for name in kit.world.disk.list(LOG) if name.endswith(".part")]
