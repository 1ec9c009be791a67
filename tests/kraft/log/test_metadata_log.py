"""The metadata log on a simulated disk, and Kafka's own opened as ours."""

from collections.abc import Sequence

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.core.time import Instant
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.log.snapshot_file import SnapshotId, snapshot_batches
from kafkapy.kraft.records.control import LeaderChange, VoterId
from kafkapy.kraft.records.metadata import MetadataRecord, NoOpRecord, TopicRecord
from kafkapy.kraft.uuids import METADATA_TOPIC_ID
from tests.kraft import fixtures
from tests.kraft.support import HOME, LOG, World

NOOP = NoOpRecord()
CHANGE = LeaderChange(leader_id=1, voters=(VoterId(voter_id=1),), granting_voters=())


def opened(world: World, **rest: int) -> MetadataLog:
    return MetadataLog.open(world.disk, world.clock, world.rng, HOME, **rest)


def append(log: MetadataLog, *records: MetadataRecord, epoch: int = 1) -> int:
    return log.append(records or [NOOP], epoch=epoch, metadata_version=30, now=Instant(1))


def put_snapshot(world: World, *ids: SnapshotId) -> None:
    for one in ids:
        data = b"".join(
            snapshot_batches(
                (),
                epoch=one.epoch,
                metadata_version=30,
                last_contained_timestamp=0,
                now=Instant(0),
            )
        )
        world.disk.write_file(f"{LOG}/{one.file_name}", data)


def test_kafkas_log_is_opened_and_read_whole() -> None:
    world = World()
    world.disk.make_directory(LOG)
    for name in ("00000000000000000000.log", "partition.metadata"):
        world.disk.write_file(f"{LOG}/{name}", fixtures.read(f"every-record/{name}"))
    log = opened(world)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (0, 50, 1)
    read = b"".join(batch.data for batch in log.batches(0, 50))
    assert read == fixtures.read("every-record/00000000000000000000.log")


def test_what_is_appended_is_the_bytes_that_kafka_appended() -> None:
    world = World()
    log = opened(world)
    for header, batch in fixtures.batches_of(fixtures.LOGS[1]):
        now, epoch = Instant(header.base_timestamp), header.leader_epoch
        if header.is_control:
            control = fixtures.control_of(fixtures.LOGS[1])
            size = log.append_control(control, epoch=epoch, now=now)
        else:
            records: Sequence[MetadataRecord] = [
                record
                for offset, record in fixtures.records_of(fixtures.LOGS[1])
                if header.base_offset <= offset <= header.last_offset
            ]
            size = log.append(records, epoch=epoch, metadata_version=30, now=now)
        assert size == len(batch)
    assert world.disk.read_file(f"{LOG}/00000000000000000000.log") == fixtures.read(
        fixtures.LOGS[1]
    )


def test_the_directory_says_which_topic_it_belongs_to() -> None:
    world = World()
    opened(world)
    assert world.disk.read_file(f"{LOG}/partition.metadata") == fixtures.read(
        "every-record/partition.metadata"
    )


def test_only_what_is_flushed_counts() -> None:
    world = World()
    log = opened(world)
    append(log)
    assert (log.end_offset, log.flushed_offset) == (1, 0)
    log.flush(lambda failure: None)
    assert log.flushed_offset == 1


def test_epochs_end_where_the_next_begins() -> None:
    log = opened(World())
    for epoch in (1, 1, 3):
        append(log, epoch=epoch)
    assert log.last_epoch == 3
    assert log.end_offset_for_epoch(1) == (1, 2)
    assert log.end_offset_for_epoch(2) == (1, 2)
    assert log.end_offset_for_epoch(3) == (3, 3)
    assert log.end_offset_for_epoch(9) == (3, 3)


def test_an_empty_log_is_of_epoch_zero() -> None:
    log = opened(World())
    assert (log.last_epoch, log.end_offset_for_epoch(4)) == (0, (0, 0))


def test_a_read_may_begin_anywhere() -> None:
    log = opened(World())
    for _ in range(3):
        append(log, NOOP, NOOP)
    batches = list(log.batches(2, 6))
    assert [batch.header.base_offset for batch in batches] == [2, 4]
    assert list(batches[0].records()) == [NOOP, NOOP]
    assert [batch.header.base_offset for batch in log.batches(0, 4)] == [0, 2]


def test_control_records_are_found_among_the_others() -> None:
    log = opened(World())
    append(log)
    log.append_control([CHANGE], epoch=2, now=Instant(1))
    append(log, epoch=2)
    assert list(log.control_batches(0)) == [[], [(1, CHANGE)], []]


def test_what_a_leader_sends_is_taken_as_far_as_its_epoch_goes() -> None:
    leader, follower = opened(World()), opened(World())
    append(leader, epoch=1)
    append(leader, TopicRecord(name="a", topic_id=METADATA_TOPIC_ID), epoch=2)
    append(leader, epoch=5)
    taken = follower.append_fetched(leader.read(0, 3), epoch=2)
    assert [batch.header.leader_epoch for batch in taken] == [1, 2]
    assert (follower.end_offset, follower.last_epoch) == (2, 2)
    assert follower.append_fetched(leader.read(2, 3)[:-1], epoch=5) == []


@pytest.mark.parametrize(("at", "taken"), [(80, 1), (72 + 16, 1), (10, 0), (150, 2)])
def test_what_arrives_damaged_is_dropped_from_there_on(at: int, taken: int) -> None:
    leader, follower = opened(World()), opened(World())
    for _ in range(3):
        append(leader)
    data = bytearray(leader.read(0, 3))
    assert len(data) == 3 * 72
    data[at] ^= 0xFF
    assert len(follower.append_fetched(bytes(data), epoch=1)) == taken
    assert follower.end_offset == taken


def test_a_log_is_cut_where_it_parted() -> None:
    log = opened(World())
    for epoch in (1, 2, 2):
        append(log, epoch=epoch)
    log.truncate_to(1)
    assert (log.end_offset, log.last_epoch) == (1, 1)


def test_a_snapshot_beyond_the_log_replaces_it() -> None:
    world = World()
    append(opened(world))
    put_snapshot(world, SnapshotId(0, 0), SnapshotId(7, 3))
    log = opened(world)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (7, 7, 3)
    assert log.snapshots.ids == [SnapshotId(7, 3)]
    assert log.end_offset_for_epoch(3) == (3, 7)
    append(log, epoch=4)
    assert log.end_offset_for_epoch(3) == (3, 7)
    assert log.end_offset_for_epoch(2) == (3, 7) or log.end_offset_for_epoch(2)[1] == 7


def test_a_snapshot_beyond_what_an_ousted_leader_wrote_replaces_it() -> None:
    """That is of a newer epoch than the snapshot, and was never committed."""
    world = World()
    log = opened(world)
    append(log, epoch=3)
    append(log, epoch=7)
    put_snapshot(world, SnapshotId(9, 5))
    log = opened(world)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (9, 9, 5)


def test_a_snapshot_within_the_log_changes_nothing() -> None:
    world = World()
    log = opened(world)
    append(log)
    append(log)
    put_snapshot(world, SnapshotId(1, 1))
    log = opened(world)
    assert (log.start_offset, log.end_offset) == (0, 2)


def test_cleaning_moves_the_start_to_the_oldest_snapshot_that_stays() -> None:
    world = World()
    log = opened(world, segment_bytes=200)
    for _ in range(9):
        append(log)
    put_snapshot(world, SnapshotId(3, 1), SnapshotId(6, 1))
    log = opened(world, segment_bytes=200)
    log.partition.advance_high_watermark(9)
    assert log.clean(world.clock.now(), max_bytes=10**6, max_age_ms=-1) == 0
    assert log.clean(world.clock.now(), max_bytes=0, max_age_ms=-1) == 1
    assert (log.start_offset, log.end_offset) == (6, 9)
    assert log.snapshots.ids == [SnapshotId(6, 1)]
    world.clock.advance(60_000)
    again = opened(world, segment_bytes=200)
    assert again.start_offset <= 6 < again.end_offset == 9


def test_a_log_without_its_snapshot_is_refused() -> None:
    world = World()
    log = opened(world)
    log.partition.truncate_fully_and_start_at(5)
    append(log)
    with pytest.raises(Corrupt, match="begins at 5"):
        opened(world)
