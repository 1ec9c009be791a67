"""What a follower asks of its leader on the wire: Fetch in a session, and ListOffsets when it
has lost touch. Records in answers are views of the frame: they go to the file as they are.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.broker.requests.request import Fields
from kafkapy.core.ids import TopicPartition

# From v12 on the leader tells where logs part.
FETCH_VERSIONS: Final = (12, 18)
LIST_OFFSETS_VERSIONS: Final = (4, 11)
LATEST: Final = -1
EARLIEST: Final = -2


class Asked(NamedTuple):
    """One partition in a fetch: what the leader's session knows of it."""

    leader_epoch: int
    offset: int
    last_epoch: int
    log_start: int


class Limits(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int


Name = tuple[str, UUID]


def fetch_fields(
    replica_id: int,
    broker_epoch: int,
    session: tuple[int, int],
    limits: Limits,
    asked: Mapping[tuple[Name, int], Asked],
    forgotten: Iterable[tuple[Name, int]],
) -> Fields:
    """`session` is (id, epoch)."""
    topics: dict[Name, list[Fields]] = {}
    for (name, index), one in asked.items():
        topics.setdefault(name, []).append(
            {
                "partition": index,
                "current_leader_epoch": one.leader_epoch,
                "fetch_offset": one.offset,
                "last_fetched_epoch": one.last_epoch,
                "log_start_offset": one.log_start,
                "partition_max_bytes": limits.partition_max_bytes,
            }
        )
    gone: dict[Name, list[int]] = {}
    for name, index in forgotten:
        gone.setdefault(name, []).append(index)
    return {
        "replica_id": replica_id,
        "replica_state": {"replica_id": replica_id, "replica_epoch": broker_epoch},
        "max_wait": limits.max_wait_ms,
        "min_bytes": limits.min_bytes,
        "max_bytes": limits.max_bytes,
        "isolation_level": 0,
        "session_id": session[0],
        "session_epoch": session[1],
        "topics": [
            {"topic": name[0], "topic_id": name[1], "partitions": rows}
            for name, rows in topics.items()
        ],
        "forgotten_topics_data": [
            {"topic": name[0], "topic_id": name[1], "partitions": indexes}
            for name, indexes in gone.items()
        ],
        "rack_id": "",
    }


def offset_fields(
    replica_id: int, topic_partition: TopicPartition, leader_epoch: int, timestamp: int
) -> Fields:
    row = {
        "partition_index": topic_partition.partition,
        "current_leader_epoch": leader_epoch,
        "timestamp": timestamp,
    }
    return {
        "replica_id": replica_id,
        "isolation_level": 0,
        "topics": [{"name": topic_partition.topic, "partitions": [row]}],
        "timeout": 0,
    }


def offset_from(answer: Any) -> tuple[int, int]:
    """(error code, offset)."""
    row = answer.topics[0].partitions[0]
    return int(row.error_code), row.offset
