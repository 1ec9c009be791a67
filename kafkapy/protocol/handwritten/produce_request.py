"""Produce requests, v3-13, as a view: records stay where they are, in the frame.

What producers send while they are busy, in a flexible version, is read here by hand:

    00 or transactional id | i16 acks | i32 timeout
    | topics [ name (v13: uuid) | partitions [ i32 index | size, records | 00 ] | 00 ] | 00

Whatever does not look like that, byte for byte, goes to the generated decoder, which also
judges what is corrupt. Neither copies records: a copy of a 1 MB batch costs ten times
what is left of the request.
"""

from codecs import utf_8_decode
from struct import Struct
from struct import error as CutShort
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages import decode_request
from kafkapy.protocol.schemas.decoder_source import MAX_BYTES_OF_ANY_STRING, read_uuid
from kafkapy.protocol.schemas.schema import milliseconds
from kafkapy.protocol.varint import read_uvarint

# A slice of the frame, or null.
Records = memoryview | bytes | None
ProducedTopic = tuple[str | None, UUID | None, list[tuple[int, Records]]]

_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_TOPIC_IDS: Final = 13
_ACKS_AND_TIMEOUT: Final = Struct(">hi").unpack_from
_INDEX: Final = Struct(">i").unpack_from
_UUID: Final = Struct("16s")


class ProduceRequestView(NamedTuple):
    """What a Produce asks. Names are None from v13 on, topic ids before. `records_at` is where
    in a body that was read by hand the size of its only records stands, -1 in any other."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[ProducedTopic]
    records_at: int = -1


def decode_produce_request(version: int, body: memoryview | bytes) -> ProduceRequestView:
    """Raises Corrupt only."""
    is_by_id = version >= _FIRST_WITH_TOPIC_IDS
    if version >= _FIRST_FLEXIBLE:
        try:
            view = _by_hand(body, is_by_id)
        except (CutShort, IndexError, Corrupt):
            view = None
        if view is not None:
            return view
    request = decode_request(ApiKey.PRODUCE, version, body)
    return ProduceRequestView(
        request.transactional_id,
        request.acks,
        milliseconds(request.timeout),
        [
            (
                None if is_by_id else topic.name,
                topic.topic_id if is_by_id else None,
                [(partition.index, partition.records) for partition in topic.partition_data],
            )
            for topic in request.topic_data
        ],
    )


def _by_hand(body: memoryview | bytes, is_by_id: bool) -> ProduceRequestView | None:
    """None where the request does not look like that."""
    transactional_id = None
    length, position = read_uvarint(body, 0)
    if length:
        if length > MAX_BYTES_OF_ANY_STRING:
            return None
        end = position + length - 1
        transactional_id = utf_8_decode(body[position:end], "replace")[0]
        position = end
    acks, timeout_ms = _ACKS_AND_TIMEOUT(body, position)
    topic_count, position = read_uvarint(body, position + 6)
    topics: list[ProducedTopic] = []
    records_at = partition_count = 0
    for _ in range(topic_count - 1):
        name = topic_id = None
        if is_by_id:
            topic_id = read_uuid(*_UUID.unpack_from(body, position))
            end = position + _UUID.size
        else:
            length, position = read_uvarint(body, position)
            end = position + length - 1
            if end < position or length > MAX_BYTES_OF_ANY_STRING:
                return None
            name = utf_8_decode(body[position:end], "replace")[0]
        count, position = read_uvarint(body, end)
        rows: list[tuple[int, Records]] = []
        for _ in range(count - 1):
            (index,) = _INDEX(body, position)
            records_at = position + 4
            size, position = read_uvarint(body, records_at)
            end = position + size - 1
            if not size or body[end]:
                return None
            rows.append((index, body[position:end]))
            position = end + 1
        if not count or body[position]:
            return None
        position += 1
        partition_count += count - 1
        topics.append((name, topic_id, rows))
    if not topic_count or body[position:] != b"\0":
        return None
    if partition_count != 1 or len(topics) != 1:
        records_at = -1
    return ProduceRequestView(transactional_id, acks, timeout_ms, topics, records_at)
