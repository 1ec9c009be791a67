"""Fetch requests, v4-18, as what a reader wants: topics with rows of numbers.

A consumer asks some thousand times a second, for many partitions at once. All but names is of
fixed size, and is read here by hand:

    v4-14: i32 replica | i32 max wait, min bytes, max bytes | i8 isolation
    | v7: i32 session, epoch
    | topics [ name (v13: uuid) | partitions [ i32 index | v9: i32 leader epoch | i64 offset
      | v12: i32 last fetched epoch | v5: i64 log start offset | i32 max bytes
      | v12: 00 ] | v12: 00 ]
    | v7: nothing forgotten | v11: rack | v12: 00, v15: or tag 1, the replica and its epoch

Whatever does not look like that, byte for byte, goes to the generated decoder, which also
judges what is corrupt.
"""

from codecs import utf_8_decode
from collections.abc import Sequence
from struct import Struct
from struct import error as CutShort
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages import decode_request
from kafkapy.protocol.schemas.decoder_source import MAX_BYTES_OF_ANY_STRING, read_uuid
from kafkapy.protocol.schemas.schema import milliseconds
from kafkapy.protocol.varint import read_uvarint

_FIRST_FLEXIBLE: Final = 12
_FIRST_WITH_TOPIC_IDS: Final = 13
_FIRST_WITH_REPLICA_STATE: Final = 15
_CONSUMER: Final = -1
_NO_SESSION: Final = (0, -1)
_NO_EPOCH: Final = -1  # of a replica: they are not of the simple shape

_FLEXIBLE_HEAD: Final = Struct(">iiiibii")
_FLEXIBLE_HEAD_WITHOUT_REPLICA: Final = Struct(">iiibii")
_FLEXIBLE_ROW: Final = Struct(">iiqiqiB")
_UUID: Final = Struct("16s")
_NOTHING_FORGOTTEN: Final = 1
# Who asks, if that is a replica: one tag, number 1, of 13 bytes; the last of them is 0 tags.
_REPLICA_STATE: Final = Struct(">BBBiqB")
_ONE_TAG: Final = (1, 1, 13, 0)
_SMALLEST_TWO_BYTE_LENGTH: Final = 128

_HEAD_V4: Final = Struct(">iiiib")
_HEAD_V7: Final = Struct(">iiiibii")
_ROW_V4: Final = Struct(">iqi")
_ROW_V5: Final = Struct(">iqqi")
_ROW_V9: Final = Struct(">iiqqi")
_INT32: Final = Struct(">i").unpack_from
_INT16: Final = Struct(">h").unpack_from


class FetchRow(NamedTuple):
    """One partition as the request names it; -1 is unknown, or not said in this version."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    max_bytes: int


# Names are None from v13 on, topic ids before. The rows of the simple shape are plain tuples in
# the order of FetchRow; behind a flexible one is its tag section, empty.
FetchTopic = tuple[str | None, UUID | None, Sequence[tuple[int, ...]]]
ForgottenTopic = tuple[str | None, UUID | None, Sequence[int]]


class FetchRequestView(NamedTuple):
    """What a Fetch asks. A version without sessions asks outside of any."""

    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: Sequence[FetchTopic]
    forgotten: Sequence[ForgottenTopic] = ()
    replica_epoch: int = -1
    rack: str | None = None  # v11 on: who says it, if only "", may be sent to a follower


def decode_fetch_request(version: int, body: memoryview | bytes) -> FetchRequestView:
    """Raises Corrupt only."""
    try:
        view = _flexible(version, body) if version >= _FIRST_FLEXIBLE else _legacy(version, body)
    except (CutShort, IndexError, Corrupt):
        view = None
    return view or _view(version, decode_request(ApiKey.FETCH, version, body))


def _flexible(version: int, body: memoryview | bytes) -> FetchRequestView | None:
    """v12 on; None where the request is not of the simple shape."""
    is_by_state = version >= _FIRST_WITH_REPLICA_STATE
    if is_by_state:
        head = (_CONSUMER, *_FLEXIBLE_HEAD_WITHOUT_REPLICA.unpack_from(body))
        position = _FLEXIBLE_HEAD_WITHOUT_REPLICA.size
    else:
        head = _FLEXIBLE_HEAD.unpack_from(body)
        position = _FLEXIBLE_HEAD.size
    is_by_id = version >= _FIRST_WITH_TOPIC_IDS
    unpack, size = _FLEXIBLE_ROW.unpack_from, _FLEXIBLE_ROW.size
    topics: list[FetchTopic] = []
    topic_count, position = read_uvarint(body, position)
    for _ in range(topic_count - 1):
        name = topic_id = None
        if is_by_id:
            topic_id = read_uuid(*_UUID.unpack_from(body, position))
            position += _UUID.size
        else:
            length, position = read_uvarint(body, position)
            end = position + length - 1
            if not position < end < len(body) or length > MAX_BYTES_OF_ANY_STRING:
                return None
            name = utf_8_decode(body[position:end], "replace")[0]
            position = end
        count, position = read_uvarint(body, position)
        rows: list[tuple[int, ...]] = []
        for _ in range(count - 1):
            row = unpack(body, position)
            if row[6]:
                return None
            rows.append(row)
            position += size
        if not count or body[position]:
            return None
        position += 1
        topics.append((name, topic_id, rows))
    rack_length = body[position + 1]
    end = position + rack_length + 1
    if (
        not topic_count
        or body[position] != _NOTHING_FORGOTTEN
        or not 0 < rack_length < _SMALLEST_TWO_BYTE_LENGTH
    ):
        return None
    rack = "" if rack_length == 1 else utf_8_decode(body[position + 2 : end], "replace")[0]
    rest = body[end:]
    if rest == b"\0":
        return FetchRequestView._make((*head, topics, (), _NO_EPOCH, rack))
    if not is_by_state or len(rest) != _REPLICA_STATE.size:
        return None
    count, tag, size, replica_id, epoch, no_tags = _REPLICA_STATE.unpack(rest)
    if (count, tag, size, no_tags) != _ONE_TAG:
        return None
    return FetchRequestView._make((replica_id, *head[1:], topics, (), epoch, rack))


def _legacy(version: int, body: memoryview | bytes) -> FetchRequestView | None:
    """Up to v11; None where the request is not of the simple shape."""
    form = _HEAD_V7 if version >= 7 else _HEAD_V4
    head = form.unpack_from(body)
    if version < 7:
        head += _NO_SESSION
    (topic_count,) = _INT32(body, form.size)
    position = form.size + 4
    form = _ROW_V9 if version >= 9 else _ROW_V5 if version >= 5 else _ROW_V4
    unpack, size = form.unpack_from, form.size
    topics: list[FetchTopic] = []
    for _ in range(topic_count):
        (length,) = _INT16(body, position)
        position += 2
        end = position + length
        if not position < end < len(body) or length > MAX_BYTES_OF_ANY_STRING:
            return None
        name = utf_8_decode(body[position:end], "replace")[0]
        (count,) = _INT32(body, end)
        position = end + 4
        rows: list[tuple[int, ...]] = []
        for _ in range(count):
            row = unpack(body, position)
            if version >= 9:
                index, epoch, offset, start, max_bytes = row
                rows.append((index, epoch, offset, -1, start, max_bytes))
            elif version >= 5:
                index, offset, start, max_bytes = row
                rows.append((index, -1, offset, -1, start, max_bytes))
            else:
                index, offset, max_bytes = row
                rows.append((index, -1, offset, -1, -1, max_bytes))
            position += size
        if count < 0:
            return None
        topics.append((name, None, rows))
    rest = body[position:]
    rack = None
    if version >= 11:
        is_simple = len(rest) >= 6 and rest[:4] == bytes(4) and len(rest) == 6 + _INT16(rest, 4)[0]
        rack = utf_8_decode(rest[6:], "replace")[0]
    else:
        is_simple = rest == bytes(4 if version >= 7 else 0)
    if topic_count < 0 or not is_simple:
        return None
    return FetchRequestView._make((*head, topics, (), _NO_EPOCH, rack))


def _view(version: int, request: Any) -> FetchRequestView:
    is_by_id = version >= _FIRST_WITH_TOPIC_IDS

    def identity(topic: Any) -> tuple[str | None, UUID | None]:
        return (None, topic.topic_id) if is_by_id else (topic.topic, None)

    replica_id = (
        request.replica_state.replica_id
        if version >= _FIRST_WITH_REPLICA_STATE
        else request.replica_id
    )
    session_id, session_epoch = (
        (request.session_id, request.session_epoch) if version >= 7 else _NO_SESSION
    )
    return FetchRequestView(
        replica_id,
        milliseconds(request.max_wait),
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        session_id,
        session_epoch,
        [
            (*identity(topic), [_row(version, one) for one in topic.partitions])
            for topic in request.topics
        ],
        [(*identity(topic), topic.partitions) for topic in request.forgotten_topics_data]
        if version >= 7
        else (),
        request.replica_state.replica_epoch if version >= _FIRST_WITH_REPLICA_STATE else -1,
        request.rack_id if version >= 11 else None,
    )


def _row(version: int, partition: Any) -> FetchRow:
    return FetchRow(
        partition.partition,
        partition.current_leader_epoch if version >= 9 else -1,
        partition.fetch_offset,
        partition.last_fetched_epoch if version >= 12 else -1,
        partition.log_start_offset if version >= 5 else -1,
        partition.partition_max_bytes,
    )
