"""Produce responses, v3-13, as whole frames.

The answer that a busy producer gets, one partition of one topic appended, is packed by
hand; v9 to v13 differ in nothing but the topic's name or id:

    size | i32 correlation id | 00 | 02 | name (v13: uuid) | 02 |
    i32 index | i16 0 | i64 base offset | i64 log append time | i64 log start offset |
    01 no record errors | 00 no message | 00 | 00 | i32 throttle time | 00

Everything else goes through the compiled encoder.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.messages import encode_response

_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_TOPIC_IDS: Final = 13
_ONE: Final = 2  # an array of one, in compact form
_NONE: Final = 1  # an empty one
# Size, correlation id, no tags, number of topics, length of the name.
_BY_NAME: Final = Struct(">iixBB")
_PARTITION: Final = Struct(">BihqqqBxxxix")
_BY_ID: Final = Struct(">iixB16sBihqqqBxxxix")
_SIZE_BY_NAME: Final = _BY_NAME.size + _PARTITION.size - 4
_SIZE_BY_ID: Final = _BY_ID.size - 4
_LONGEST_NAME: Final = 126  # whose length still fits one byte


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
    if version >= _FIRST_FLEXIBLE and len(topics) == 1 and not node_endpoints:
        name, topic_id, partitions = topics[0]
        if len(partitions) == 1:
            index, error_code, base, appended, start, errors, message, leader = partitions[0]
            if not error_code and not errors and message is None and leader is None:
                if version >= _FIRST_WITH_TOPIC_IDS:
                    assert topic_id is not None, topics
                    return _BY_ID.pack(
                        _SIZE_BY_ID,
                        correlation_id,
                        _ONE,
                        topic_id.bytes,
                        _ONE,
                        index,
                        0,
                        base,
                        appended,
                        start,
                        _NONE,
                        throttle_time_ms,
                    )
                assert name is not None, topics
                text = name.encode()
                size = len(text)
                if size <= _LONGEST_NAME:
                    return b"".join(
                        (
                            _BY_NAME.pack(_SIZE_BY_NAME + size, correlation_id, _ONE, size + 1),
                            text,
                            _PARTITION.pack(
                                _ONE, index, 0, base, appended, start, _NONE, throttle_time_ms
                            ),
                        )
                    )
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
