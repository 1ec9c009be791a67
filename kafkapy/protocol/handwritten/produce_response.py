"""Produce responses, v3-13, as whole frames.

The answer that busy producers get, everything appended, is packed by hand in the flexible
versions; v9 to v13 differ in nothing but the topic's name or id:

    size | i32 correlation id | 00 | topics [ name (v13: uuid) | partitions
    [ i32 index | i16 0 | i64 base offset | i64 log append time | i64 log start offset
      | 01 no record errors | 00 no message | 00 ] | 00 ] | i32 throttle time | 00

Everything else goes through the compiled encoder.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.messages import encode_response
from kafkapy.protocol.varint import uvarint

_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_TOPIC_IDS: Final = 13
_HEAD: Final = Struct(">iix").pack
_HEAD_SIZE: Final = 5  # without the size itself
_APPENDED: Final = Struct(">ihqqqBxx").pack
_NO_RECORD_ERRORS: Final = 1  # an array of none, in compact form
_NO_TAGS: Final = b"\0"
_END: Final = Struct(">ix").pack


class ProducedPartition(NamedTuple):
    """What became of one partition's records. `record_errors` are (index in the batch,
    sentence); `current_leader` is (node id, leader epoch), for those who asked elsewhere."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which no one calls here
    error_code: int
    base_offset: int
    log_append_time_ms: int
    log_start_offset: int
    record_errors: Sequence[tuple[int, str | None]] = ()
    error_message: str | None = None
    current_leader: tuple[int, int] | None = None


ProducedTopic = tuple[str | None, UUID | None, Sequence[ProducedPartition]]
NodeEndpoint = tuple[int, str, int, str | None]  # node id, host, port, rack


def pack_produce_response(
    version: int,
    correlation_id: int,
    topics: Sequence[ProducedTopic],
    throttle_time_ms: int = 0,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """The frame, with its size and header."""
    if version >= _FIRST_FLEXIBLE and not node_endpoints:
        rows = _all_appended(topics, version >= _FIRST_WITH_TOPIC_IDS)
        if rows is not None:
            end = _END(throttle_time_ms)
            size = _HEAD_SIZE + len(rows) + len(end)
            return b"".join((_HEAD(size, correlation_id), rows, end))
    body = {
        "responses": [
            {"name": name, "topic_id": topic_id, "partition_responses": list(map(_row, rows))}
            for name, topic_id, rows in topics
        ],
        "throttle_time": throttle_time_ms,
        "node_endpoints": [
            {"node_id": node_id, "host": host, "port": port, "rack": rack}
            for node_id, host, port, rack in node_endpoints
        ],
    }
    return frame(
        response_head(ApiKey.PRODUCE, version, correlation_id),
        encode_response(ApiKey.PRODUCE, version, body),
    )


def _all_appended(topics: Sequence[ProducedTopic], is_by_id: bool) -> bytes | None:
    """None if there is more to say of a partition than where its records are."""
    pieces = [uvarint(len(topics) + 1)]
    for name, topic_id, rows in topics:
        if is_by_id:
            if topic_id is None:  # the null id, which is refused
                return None
            pieces.append(topic_id.bytes)
        else:
            assert name is not None, topics
            text = name.encode()
            pieces.append(uvarint(len(text) + 1))
            pieces.append(text)
        pieces.append(uvarint(len(rows) + 1))
        for index, error_code, base, appended, start, errors, message, leader in rows:
            if error_code or errors or message is not None or leader is not None:
                return None
            pieces.append(_APPENDED(index, 0, base, appended, start, _NO_RECORD_ERRORS))
        pieces.append(_NO_TAGS)
    return b"".join(pieces)


def _row(partition: ProducedPartition) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": partition.index,
        "error_code": partition.error_code,
        "base_offset": partition.base_offset,
        "log_append_time": partition.log_append_time_ms,
        "log_start_offset": partition.log_start_offset,
        "record_errors": [
            {"batch_index": index, "batch_index_error_message": message}
            for index, message in partition.record_errors
        ],
        "error_message": partition.error_message,
    }
    if partition.current_leader is not None:
        leader_id, leader_epoch = partition.current_leader
        row["current_leader"] = {"leader_id": leader_id, "leader_epoch": leader_epoch}
    return row
