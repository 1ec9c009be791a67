"""Names of files and directories in a log directory (formats/log 1).

<topic>-<partition>/                          a partition
<topic>-<partition>.<32 hex>-delete/          deleted, to be removed (also -stray, -future)
    <20 digits>.log .index .timeindex .txnindex .snapshot, each perhaps with
    .deleted .cleaned .swap behind it
"""

from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.core.ids import TopicPartition

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
SEGMENT_SUFFIXES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
CLEAN_SHUTDOWN_MARKER: Final = ".kafka_cleanshutdown"
RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT: Final = "replication-offset-checkpoint"
CLEANER_CHECKPOINT: Final = "cleaner-offset-checkpoint"

METADATA_TOPIC: Final = "__cluster_metadata"
REMOTE_INDEX_CACHE: Final = "remote-log-index-cache"

_OFFSET_DIGITS: Final = 20
_MAX_DIRECTORY_NAME: Final = 255


class DirectoryKind(StrEnum):
    CURRENT = ""
    DELETED = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


class OffsetFile(NamedTuple):
    """`<offset><suffix><state>`, e.g. (42, ".log", ".deleted"); the state may be empty."""

    offset: int
    suffix: str
    state: str


class PartitionDirectory(NamedTuple):
    topic_partition: TopicPartition
    kind: DirectoryKind


def offset_file(offset: int, suffix: str, state: str = "") -> str:
    return f"{offset:020d}{suffix}{state}"


def parse_offset_file(name: str) -> OffsetFile | None:
    """None for a name that is not 20 digits with suffixes."""
    digits, dot, rest = name.partition(".")
    if not dot or len(digits) != _OFFSET_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    suffix, dot, state = rest.partition(".")
    return OffsetFile(int(digits), f".{suffix}", f"{dot}{state}")


def partition_directory(topic_partition: TopicPartition) -> str:
    return f"{topic_partition.topic}-{topic_partition.partition}"


def marked_directory(topic_partition: TopicPartition, kind: DirectoryKind, unique: UUID) -> str:
    """A name for a directory that is to go, or to come. Kafka shortens the topic where the
    name gets too long, except for future directories."""
    tail = f"-{topic_partition.partition}.{unique.hex}{kind}"
    if kind is DirectoryKind.FUTURE:
        return topic_partition.topic + tail
    return topic_partition.topic[: _MAX_DIRECTORY_NAME - len(tail)] + tail


def parse_partition_directory(name: str) -> PartitionDirectory | None:
    """None for a name no Kafka server gives to a partition's directory."""
    kind = DirectoryKind.CURRENT
    for marked in (DirectoryKind.DELETED, DirectoryKind.FUTURE, DirectoryKind.STRAY):
        if name.endswith(marked):
            kind = marked
            name, dot, unique = name.removesuffix(marked).rpartition(".")
            if not dot or not unique:
                return None
    topic, dash, number = name.rpartition("-")
    if not dash or not topic or not (number.isascii() and number.isdigit()):
        return None
    return PartitionDirectory(TopicPartition(topic, int(number)), kind)
