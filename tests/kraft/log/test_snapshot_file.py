"""Snapshot files: Kafka's are read, ours are built as Kafka's are."""

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.core.time import Instant
from kafkapy.kraft.image.as_records import records_of
from kafkapy.kraft.log.snapshot_file import (
    RECORDS_PER_BATCH,
    SnapshotBatch,
    SnapshotId,
    read_snapshot,
    snapshot_batches,
    snapshot_id,
)
from kafkapy.kraft.quorum.voters import VoterSet, voters_from
from kafkapy.kraft.records.control import KRaftVoters, SnapshotHeader
from kafkapy.kraft.records.metadata import MetadataRecord, NoOpRecord
from kafkapy.protocol.batches.batch import batches
from kafkapy.sim.world.disk import SimDisk
from tests.kraft import fixtures

NOW = Instant(1_795_000_000_000)


def parsed(data: bytes) -> list[SnapshotBatch]:
    disk = SimDisk()
    file = disk.open("/snapshot", create=True)
    file.append([data])
    return list(read_snapshot(file))


def built(*records: MetadataRecord, voters: VoterSet | None = None) -> bytes:
    return b"".join(
        snapshot_batches(
            records,
            epoch=3,
            metadata_version=30,
            last_contained_timestamp=77,
            now=NOW,
            kraft_version=0 if voters is None else 1,
            voters=voters,
        )
    )


def test_names_are_kafkas() -> None:
    name = "00000000000000012345-0000000003.checkpoint"
    assert SnapshotId(12345, 3).file_name == name
    assert snapshot_id(name) == SnapshotId(12345, 3)
    assert snapshot_id(f"{name}.part") is None
    assert snapshot_id("12345-3.checkpoint") is None


@pytest.mark.parametrize("name", fixtures.SNAPSHOTS)
def test_a_snapshot_of_the_same_image_has_kafkas_shape(name: str) -> None:
    theirs = parsed(fixtures.read(name))
    header, _, voters = theirs[0].control
    assert isinstance(header, SnapshotHeader)
    assert isinstance(voters, KRaftVoters)
    data = b"".join(
        snapshot_batches(
            records_of(fixtures.image_of(name)),
            epoch=1,
            metadata_version=30,
            last_contained_timestamp=header.last_contained_log_timestamp,
            now=NOW,
            kraft_version=1,
            voters=voters_from(voters),
        )
    )
    ours = parsed(data)
    assert [batch.control for batch in ours] == [batch.control for batch in theirs]
    assert sorted(map(repr, ours[1].records)) == sorted(map(repr, theirs[1].records))
    assert len(data) == len(fixtures.read(name))


def test_the_checkpoint_of_format_has_voters_and_nothing_else() -> None:
    first, last = parsed(fixtures.read("after-format/00000000000000000000-0000000000.checkpoint"))
    assert len(first.control) == 3
    assert len(last.control) == 1


def test_offsets_begin_at_zero_and_batches_stay_small() -> None:
    data = built(*[NoOpRecord()] * (RECORDS_PER_BATCH + 1))
    headers = [header for _, header in batches(data)]
    assert [(one.base_offset, one.record_count) for one in headers] == [
        (0, 1),
        (1, RECORDS_PER_BATCH),
        (1 + RECORDS_PER_BATCH, 1),
        (2 + RECORDS_PER_BATCH, 1),
    ]
    assert {one.leader_epoch for one in headers} == {3}


def test_a_static_quorum_has_no_voters_in_its_snapshots() -> None:
    (header,) = parsed(built())[0].control
    assert header == SnapshotHeader(last_contained_log_timestamp=77)


def test_a_snapshot_cut_off_anywhere_is_corrupt() -> None:
    data = built(NoOpRecord(), NoOpRecord())
    for size in range(len(data)):
        with pytest.raises(Corrupt):
            parsed(data[:size])


def test_a_flipped_bit_anywhere_is_corrupt_or_in_the_epoch() -> None:
    data = built(NoOpRecord())
    epochs = {at for position, _ in batches(data) for at in range(position + 12, position + 16)}
    for at in set(range(len(data))) - epochs:
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        with pytest.raises(Corrupt):
            parsed(bytes(damaged))


def test_nothing_may_follow_the_footer() -> None:
    data = built()
    with pytest.raises(Corrupt):
        parsed(data + data)
