"""Transaction markers and control types, against the bytes of formats/records 4."""

import zipfile
from pathlib import Path

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.batches.batch import NewRecord, batches, build_batch, read_header, records
from kafkapy.protocol.batches.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    build_marker,
    control_key,
    control_type,
    read_marker,
)

COMPACTION = Path(__file__).parents[2] / "fixtures" / "compaction"


def test_a_marker_comes_back() -> None:
    for is_commit in (True, False):
        batch = build_marker(
            is_commit=is_commit,
            coordinator_epoch=17,
            producer_id=4000,
            producer_epoch=5,
            timestamp=1_700_000_000_000,
        )
        header = read_header(batch)
        assert header.is_control
        assert header.is_transactional
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4000, 5, -1)
        assert read_marker(batch) == EndTransactionMarker(is_commit, 17)


def test_key_and_value_are_the_documented_bytes() -> None:
    batch = build_marker(
        is_commit=False, coordinator_epoch=3, producer_id=1, producer_epoch=0, timestamp=0
    )
    (record,) = records(batch)
    assert record.key is not None
    assert record.value is not None
    assert (record.key.hex(), record.value.hex()) == ("00000000", "000000000003")


def test_kafkas_markers_are_rebuilt_byte_for_byte() -> None:
    rebuilt = 0
    with zipfile.ZipFile(COMPACTION / "before.zip") as archive:
        segments = [archive.read(name) for name in archive.namelist() if name.endswith(".log")]
    for segment in segments:
        for position, header in batches(segment):
            if not header.is_control:
                continue
            batch = segment[position : position + header.size]
            marker = read_marker(batch)
            assert marker is not None
            assert batch == build_marker(
                is_commit=marker.is_commit,
                coordinator_epoch=marker.coordinator_epoch,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                timestamp=header.max_timestamp,
                base_offset=header.base_offset,
                leader_epoch=header.leader_epoch,
            )
            rebuilt += 1
    assert rebuilt == 6


def test_longer_values_and_higher_versions_are_read() -> None:
    value = (2).to_bytes(2) + (9).to_bytes(4) + b"more"
    batch = build_batch(
        [NewRecord((1).to_bytes(2) + (1).to_bytes(2), value)], is_control=True, producer_id=1
    )
    assert read_marker(batch) == EndTransactionMarker(True, 9)


def test_other_control_records_are_no_markers() -> None:
    batch = build_batch(
        [NewRecord(control_key(ControlRecordType.LEADER_CHANGE), b"x")], is_control=True
    )
    assert read_marker(batch) is None
    assert control_type(b"\x00\x00\x00\x63") is ControlRecordType.UNKNOWN


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x00"])
def test_a_control_key_that_says_nothing_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(Corrupt):
        control_type(key)


def test_a_marker_without_an_epoch_is_corrupt() -> None:
    for value in (None, b"\x00\x00"):
        batch = build_batch(
            [NewRecord(control_key(ControlRecordType.ABORT), value)], is_control=True
        )
        with pytest.raises(Corrupt):
            read_marker(batch)
