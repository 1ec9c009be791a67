"""Control batches of the quorum, against those of a real log."""

from uuid import UUID

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.core.time import Instant
from kafkapy.kraft.records.control import (
    KRaftVersion,
    KRaftVoters,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    VoterId,
    build_control_batch,
    control_records,
    decode_control,
    encode_control,
)
from kafkapy.protocol.batches.batch import Record, records
from kafkapy.protocol.batches.control_records import ControlRecordType, build_marker, control_key
from tests.kraft import fixtures


@pytest.mark.parametrize("name", fixtures.ALL)
def test_control_batches_of_kafka_are_built_the_same_again(name: str) -> None:
    seen = 0
    for header, batch in fixtures.batches_of(name):
        if not header.is_control:
            continue
        seen += 1
        rebuilt = build_control_batch(
            [record for _, record in control_records(batch)],
            base_offset=header.base_offset,
            leader_epoch=header.leader_epoch,
            now=Instant(header.base_timestamp),
        )
        assert rebuilt == batch
    assert seen


def test_the_first_batch_of_a_log_names_leader_version_and_voters() -> None:
    change, version, voters = fixtures.control_of("first-start.log")
    one = (VoterId(voter_id=1),)
    assert change == LeaderChange(leader_id=1, voters=one, granting_voters=one)
    assert version == KRaftVersion(k_raft_version=1)
    assert isinstance(voters, KRaftVoters)
    assert voters.voters[0].voter_directory_id == UUID("73546667-a3b7-438a-878e-e3c1e3796748")


def test_a_leader_change_has_the_bytes_written_down() -> None:
    one = (VoterId(voter_id=1),)
    key, value = encode_control(LeaderChange(leader_id=1, voters=one, granting_voters=one))
    assert key.hex() == "00000002"
    assert value.hex() == "000000000001" + "0200000001" + "00" + "0200000001" + "0000"


def test_snapshots_begin_with_a_header_and_end_with_a_footer() -> None:
    header, *_, footer = fixtures.control_of(fixtures.SNAPSHOTS[1])
    assert isinstance(header, SnapshotHeader)
    assert header.last_contained_log_timestamp > 0
    assert footer == SnapshotFooter()


def test_control_records_of_others_mean_nothing_here() -> None:
    marker = build_marker(
        is_commit=True, coordinator_epoch=1, producer_id=1, producer_epoch=1, timestamp=1
    )
    assert control_records(marker) == []
    unknown = Record(0, 0, b"\x00\x00\x00\x63", b"")
    assert decode_control(unknown) is None


def test_fields_of_a_later_version_are_ignored() -> None:
    _, value = encode_control(SnapshotFooter())
    later = Record(0, 0, control_key(ControlRecordType.SNAPSHOT_FOOTER), value + b"more")
    assert decode_control(later) == SnapshotFooter()


def test_a_control_record_without_value_is_corrupt() -> None:
    with pytest.raises(Corrupt):
        decode_control(Record(0, 0, control_key(ControlRecordType.LEADER_CHANGE), None))


def test_several_records_share_one_batch() -> None:
    batch = build_control_batch(
        [SnapshotHeader(last_contained_log_timestamp=5), KRaftVersion(k_raft_version=1)],
        base_offset=7,
        leader_epoch=3,
        now=Instant(9),
    )
    assert [offset for offset, _ in control_records(batch)] == [7, 8]
    assert {record.timestamp for record in records(batch)} == {9}
