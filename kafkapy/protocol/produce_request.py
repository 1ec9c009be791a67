"""Produce requests, v3-13, as a view: records stay where they are, in the frame.

What a producer sends while it is busy, one topic with one partition in a flexible version
in a transaction or in none, is read here by hand:

    00 or transactional id | i16 acks | i32 timeout | 02 | name (v13: uuid) | 02 | i32 index
    | size, records | 00 00 00

Whatever does not look like that, byte for byte, goes to the generated decoder, which also
judges what is corrupt. Neither copies records: a copy of a 1 MB batch costs ten times
what is left of the request.
"""

from codecs import utf_8_decode
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.decoder_source import read_uuid
from kafkapy.protocol.messages import decode_request
from kafkapy.protocol.schema import milliseconds

# A slice of the frame, or null.
Records = memoryview | bytes | None
ProducedTopic = tuple[str | None, UUID | None, list[tuple[int, Records]]]

_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_TOPIC_IDS: Final = 13
_ONE: Final = 2  # an array of one, in compact form
# Last byte of a transactional id or of its absence, acks, timeout, number of topics, first
# byte of a name's length.
_HEAD: Final = Struct(">BhiBB").unpack_from
_HEAD_BY_ID: Final = Struct(">BhiB16s").unpack_from
# Number of partitions, index, three bytes of the records' size; the empty tag sections.
_PARTITION: Final = Struct(">BiBBB").unpack_from
_NO_TAGS: Final = b"\0\0\0"
_SHORTEST: Final = 40  # a record batch is longer by itself: shorter ones are not hot


class ProduceRequestView(NamedTuple):
    """What a Produce asks. Names are None from v13 on, topic ids before. `records_at` is where
    in a body of the simple shape the records' size stands, -1 in any other."""

    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[ProducedTopic]
    records_at: int = -1


def decode_produce_request(version: int, body: memoryview | bytes) -> ProduceRequestView:
    """Raises Corrupt only."""
    if version >= _FIRST_FLEXIBLE and len(body) > _SHORTEST:
        view = _one_partition(body, version >= _FIRST_WITH_TOPIC_IDS)
        if view is not None:
            return view
    request = decode_request(ApiKey.PRODUCE, version, body)
    is_by_id = version >= _FIRST_WITH_TOPIC_IDS
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


def _one_partition(body: memoryview | bytes, is_by_id: bool) -> ProduceRequestView | None:
    """None where the request is not of the simple shape."""
    transactional_id = name = topic_id = None
    start = 0
    if body[0]:
        if not 1 < body[0] < 128 or len(body) <= _SHORTEST + body[0]:
            return None
        start = body[0] - 1
        transactional_id = utf_8_decode(body[1 : start + 1], "replace")[0]
    if is_by_id:
        _, acks, timeout_ms, topics, raw_id = _HEAD_BY_ID(body, start)
        topic_id = read_uuid(raw_id)
        position = start + 24
    else:
        _, acks, timeout_ms, topics, name_size = _HEAD(body, start)
        position = start + 8 + name_size
        if not 1 < name_size < 128 or position + 8 > len(body):
            return None
        name = utf_8_decode(body[start + 9 : position], "replace")[0]
    if topics != _ONE:
        return None
    partitions, index, size, more, most = _PARTITION(body, position)
    records_at = position + 5
    position += 6
    if size > 127:
        size += (more << 7) - 128
        position += 1
        if more > 127:
            size += (most << 14) - (128 << 7)
            position += 1
            if most > 127:
                return None
    stop = position + size - 1
    if partitions != _ONE or not size or body[stop:] != _NO_TAGS:
        return None
    topic: ProducedTopic = (name, topic_id, [(index, body[position:stop])])
    return ProduceRequestView(transactional_id, acks, timeout_ms, [topic], records_at)
