"""Names in a log directory, both ways."""

from uuid import UUID

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.log.names import (
    DirectoryKind,
    OffsetFile,
    marked_directory,
    offset_file,
    parse_offset_file,
    parse_partition_directory,
    partition_directory,
)

UNIQUE = UUID("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("00000000000000000042.log", OffsetFile(42, ".log", "")),
        ("00000000000000000042.timeindex", OffsetFile(42, ".timeindex", "")),
        ("00000000000000000042.log.deleted", OffsetFile(42, ".log", ".deleted")),
        ("00000000000000000042.snapshot.tmp", OffsetFile(42, ".snapshot", ".tmp")),
        ("00000000000000000012-0000000003.checkpoint", None),
        ("leader-epoch-checkpoint", None),
        ("42.log", None),
        ("٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٤٢.log", None),
        ("00000000000000000042", None),
    ],
)
def test_offset_files_are_twenty_digits_and_suffixes(name: str, parsed: OffsetFile | None) -> None:
    assert parse_offset_file(name) == parsed
    if parsed is not None:
        assert offset_file(*parsed) == name


@pytest.mark.parametrize("topic", ["orders", "a-b", "a-1", "x.y_z-0-delete", "-"])
@pytest.mark.parametrize("kind", list(DirectoryKind))
def test_a_directory_names_its_partition(topic: str, kind: DirectoryKind) -> None:
    partition = TopicPartition(topic, 12)
    name = (
        partition_directory(partition)
        if kind is DirectoryKind.CURRENT
        else marked_directory(partition, kind, UNIQUE)
    )
    assert parse_partition_directory(name) == (partition, kind)


def test_a_marked_name_shortens_the_topic_but_not_of_a_future_log() -> None:
    partition = TopicPartition("t" * 249, 7)
    deleted = marked_directory(partition, DirectoryKind.DELETED, UNIQUE)
    assert len(deleted) == 255
    assert deleted.endswith(f"t-7.{UNIQUE.hex}-delete")
    future = marked_directory(partition, DirectoryKind.FUTURE, UNIQUE)
    assert future.startswith("t" * 249)


@pytest.mark.parametrize(
    "name", ["lost+found", "orders", "orders-", "-0", "orders-x", "orders-0-delete", "t-0.-delete"]
)
def test_other_names_are_no_partitions(name: str) -> None:
    found = parse_partition_directory(name)
    assert found is None or found.kind is DirectoryKind.CURRENT
    if name != "orders-0-delete":
        assert found is None
