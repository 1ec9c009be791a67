"""The file that says which topic a partition's directory belongs to."""

from uuid import UUID

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.log.directories.partition_metadata import encode_partition_metadata, read_topic_id
from kafkapy.sim.world.disk import SimDisk

TOPIC_ID = UUID("e9c03b10-0000-4000-8000-00000000fffe")


def _disk(data: bytes) -> SimDisk:
    disk = SimDisk()
    disk.make_directory("/d")
    disk.write_file("/d/partition.metadata", data)
    return disk


def test_it_is_two_lines_without_an_end() -> None:
    data = encode_partition_metadata(TOPIC_ID)
    assert data == b"version: 0\ntopic_id: 6cA7EAAAQACAAAAAAAD__g"
    assert read_topic_id(_disk(data), "/d") == TOPIC_ID


def test_a_missing_file_is_no_topic_id() -> None:
    disk = SimDisk()
    disk.make_directory("/d")
    assert read_topic_id(disk, "/d") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 0",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: -1\ntopic_id: 6cA7EAAAQACAAAAAAAD__g",
        b"version: 0\ntopic_id: 6cA7EAAAQ",
        b"\xff",
    ],
)
def test_nonsense_is_a_failed_disk(data: bytes) -> None:
    with pytest.raises(DiskFailed):
        read_topic_id(_disk(data), "/d")
