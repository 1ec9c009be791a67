"""Text checkpoint files, as Kafka writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.log.directories.checkpoints import (
    encode_epochs,
    encode_offsets,
    read_epochs,
    read_offsets,
)
from kafkapy.sim.world.disk import SimDisk

TOPICS = st.text("abcXYZ019._-", min_size=1, max_size=20)


def _disk(data: bytes) -> SimDisk:
    disk = SimDisk()
    disk.write_file("/file", data)
    return disk


def test_offsets_are_lines_of_topic_partition_and_offset() -> None:
    offsets = {TopicPartition("orders", 3): 1042, TopicPartition("a-b", 0): 0}
    assert encode_offsets(offsets) == b"0\n2\norders 3 1042\na-b 0 0\n"
    assert encode_offsets({}) == b"0\n0\n"


@given(st.dictionaries(st.builds(TopicPartition, TOPICS, st.integers(0, 999)), st.integers(0)))
def test_what_is_written_is_read(offsets: dict[TopicPartition, int]) -> None:
    assert read_offsets(_disk(encode_offsets(offsets)), "/file") == offsets


def test_epochs_are_lines_of_epoch_and_start_offset() -> None:
    assert encode_epochs([(0, 0), (3, 120)]) == b"0\n2\n0 0\n3 120\n"
    assert read_epochs(_disk(b"0\n2\n0 0\n3 120\n"), "/file") == [(0, 0), (3, 120)]


@pytest.mark.parametrize("data", [b"", b"0\n0\n"])
def test_an_empty_or_missing_file_has_no_entries(data: bytes) -> None:
    assert read_offsets(_disk(data), "/file") == {}
    assert read_offsets(SimDisk(), "/file") == {}


@pytest.mark.parametrize(
    "data",
    [
        b"1\n0\n",
        b"0\n",
        b"0\n2\na 0 1\n",
        b"0\n1\na 0\n",
        b"0\n1\na 0 x\n",
        b"0\nx\n",
        b"0\n1\na 0 1 2\n",
        b"\xff\xfe",
        b"x",
    ],
)
def test_a_malformed_file_is_a_failed_disk(data: bytes) -> None:
    with pytest.raises(DiskFailed):
        read_offsets(_disk(data), "/file")
