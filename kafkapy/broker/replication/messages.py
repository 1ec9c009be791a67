"""What a follower asks of its leader on the wire: Fetch in a session, and ListOffsets when it
has lost touch. Records in answers are views of the frame: they go to the file as they are.

Between nodes of today it is packed by hand (protocol/handwritten/replica_fetch.py); with brokers
that speak only older versions kio's schemas do the work.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from kafkapy.broker.requests.request import Fields
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.handwritten.replica_fetch import (
    FIRST_VERSION,
    FetchedRow,
    ReplicaAnswer,
    ReplicaRow,
    pack_replica_fetch,
    read_replica_answer,
)
from kafkapy.protocol.messages import decode_response, encode_request

# From v12 on the leader tells where logs part, from v13 on topics have ids: brokers of Kafka 3.1.
FETCH_VERSIONS: Final = (13, 18)
LIST_OFFSETS_VERSIONS: Final = (4, 11)
LATEST: Final = -1
EARLIEST: Final = -2

Key = tuple[UUID, int]


class Limits(NamedTuple):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int


class Asks(Protocol):
    @property
    def node_id(self) -> int: ...

    @property
    def broker_epoch(self) -> int: ...

    @property
    def fetch_limits(self) -> Limits: ...


def fetch_body(
    node: Asks,
    session: tuple[int, int],
    rows: Mapping[Key, ReplicaRow],
    gone: Iterable[Key],
    *,
    waits_ms: int | None = None,
) -> Callable[[int], bytes]:
    """The body of a request, by its version; `session` is (id, epoch). `waits_ms` None: as long as
    it may be parked."""
    topics: dict[UUID, list[ReplicaRow]] = {}
    for key, row in rows.items():
        topics.setdefault(key[0], []).append(row)
    forgotten: dict[UUID, list[int]] = {}
    for topic_id, index in gone:
        forgotten.setdefault(topic_id, []).append(index)
    limits = node.fetch_limits
    if waits_ms is not None:
        limits = limits._replace(max_wait_ms=min(waits_ms, limits.max_wait_ms))

    def body(version: int) -> bytes:
        if version < FIRST_VERSION:
            return encode_request(
                ApiKey.FETCH, version, _fields(node, limits, session, topics, forgotten)
            )
        return pack_replica_fetch(
            replica_id=node.node_id,
            broker_epoch=node.broker_epoch,
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            session=session,
            topics=topics,
            forgotten=forgotten,
        )

    return body


def _fields(
    node: Asks,
    limits: Limits,
    session: tuple[int, int],
    topics: Mapping[UUID, list[ReplicaRow]],
    forgotten: Mapping[UUID, list[int]],
) -> Fields:
    return {
        "replica_id": node.node_id,
        "max_wait": limits.max_wait_ms,
        "min_bytes": limits.min_bytes,
        "max_bytes": limits.max_bytes,
        "isolation_level": 0,
        "session_id": session[0],
        "session_epoch": session[1],
        "topics": [
            {
                "topic_id": topic_id,
                "partitions": [
                    {
                        "partition": row.partition,
                        "current_leader_epoch": row.leader_epoch,
                        "fetch_offset": row.offset,
                        "last_fetched_epoch": row.last_epoch,
                        "log_start_offset": row.log_start,
                        "partition_max_bytes": row.max_bytes,
                    }
                    for row in rows
                ],
            }
            for topic_id, rows in topics.items()
        ],
        "forgotten_topics_data": [
            {"topic_id": topic_id, "partitions": indexes} for topic_id, indexes in forgotten.items()
        ],
        "rack_id": "",
    }


def read_answer(version: int, body: memoryview) -> ReplicaAnswer:
    """Raises Corrupt. Its records are views of `body`."""
    if version >= FIRST_VERSION:
        return read_replica_answer(body)
    answer = decode_response(ApiKey.FETCH, version, body)
    return ReplicaAnswer(
        int(answer.error_code),
        answer.session_id,
        [(topic.topic_id, [_row(one) for one in topic.partitions]) for topic in answer.responses],
    )


def _row(one: Any) -> FetchedRow:
    parts = one.diverging_epoch
    is_parted = parts.epoch >= 0 or parts.end_offset >= 0
    return FetchedRow(
        one.partition_index,
        int(one.error_code),
        one.high_watermark,
        one.log_start_offset,
        (parts.epoch, parts.end_offset) if is_parted else None,
        memoryview(one.records or b""),
    )


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
