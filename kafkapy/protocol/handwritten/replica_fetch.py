"""Fetch between brokers, v15-18, by hand: what followers ask some thousand times a second.

    request   i32 max wait, min bytes, max bytes | i8 isolation | i32 session, epoch
              | topics [ uuid | partitions [ i32 index, leader epoch | i64 offset
                | i32 last epoch | i64 log start | i32 max bytes | 00 ] | 00 ]
              | forgotten [ uuid | [ i32 ] | 00 ] | rack "" | tag 1: i32 replica, i64 epoch
    response  i32 throttle | i16 error | i32 session
              | topics [ uuid | partitions [ i32 index | i16 error | i64 high watermark,
                last stable offset, log start | aborted | i32 preferred | records | tags ] | 00 ]

Records of an answer are views of its frame: they go to the file as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from struct import error as CutShort
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.varint import read_uvarint, skip_tags, uvarint

FIRST_VERSION: Final = 15
_HEAD: Final = Struct(">iiibii")
_ROW: Final = Struct(">iiqiqix")
_TAIL: Final = Struct(">BBBBiqB")  # rack "", one tag: number 1 of 13 bytes
_INDEX: Final = Struct(">i")
_ANSWER_HEAD: Final = Struct(">ihi")
_PARTITION: Final = Struct(">ihqqq")
_PREFERRED: Final = Struct(">i")
_EPOCH_END: Final = Struct(">iq")
_UUID_SIZE: Final = 16
_ABORTED_SIZE: Final = 17  # two offsets, and no tags
_DIVERGING: Final = 0


class ReplicaRow(NamedTuple):
    """One partition of a request."""

    partition: int
    leader_epoch: int
    offset: int
    last_epoch: int
    log_start: int
    max_bytes: int


class FetchedRow(NamedTuple):
    """One partition of an answer; `diverging` is (epoch, end offset)."""

    partition: int
    error_code: int
    high_watermark: int
    log_start: int
    diverging: tuple[int, int] | None
    # In quotes for mypyc, whose named tuples know no memoryview (KeyError on import).
    records: "memoryview"


class ReplicaAnswer(NamedTuple):
    error_code: int
    session_id: int
    topics: list[tuple[UUID, list[FetchedRow]]]


def pack_replica_fetch(
    *,
    replica_id: int,
    broker_epoch: int,
    max_wait_ms: int,
    min_bytes: int,
    max_bytes: int,
    session: tuple[int, int],
    topics: Mapping[UUID, Sequence[ReplicaRow]],
    forgotten: Mapping[UUID, Iterable[int]],
) -> bytes:
    """The body of a request."""
    parts = [
        _HEAD.pack(max_wait_ms, min_bytes, max_bytes, 0, *session),
        uvarint(len(topics) + 1),
    ]
    for topic_id, rows in topics.items():
        parts += (topic_id.bytes, uvarint(len(rows) + 1))
        parts += [_ROW.pack(*row) for row in rows]
        parts.append(b"\0")
    parts.append(uvarint(len(forgotten) + 1))
    for topic_id, indexes in forgotten.items():
        packed = [_INDEX.pack(index) for index in indexes]
        parts += (topic_id.bytes, uvarint(len(packed) + 1), *packed, b"\0")
    parts.append(_TAIL.pack(1, 1, 1, 13, replica_id, broker_epoch, 0))
    return b"".join(parts)


def read_replica_answer(body: memoryview) -> ReplicaAnswer:
    """Raises Corrupt only. Views of `body` are good as long as that is."""
    try:
        return _read(body)
    except (CutShort, IndexError, ValueError) as short:
        raise Corrupt("a fetch answer that is cut short") from short


def _read(body: memoryview) -> ReplicaAnswer:
    _, error_code, session_id = _ANSWER_HEAD.unpack_from(body)
    topics: list[tuple[UUID, list[FetchedRow]]] = []
    count, at = read_uvarint(body, _ANSWER_HEAD.size)
    for _ in range(count - 1):
        topic_id = UUID(bytes=body[at : at + _UUID_SIZE].tobytes())
        row_count, at = read_uvarint(body, at + _UUID_SIZE)
        rows: list[FetchedRow] = []
        for _ in range(row_count - 1):
            row, at = _read_row(body, at)
            rows.append(row)
        at = skip_tags(body, at)
        topics.append((topic_id, rows))
    return ReplicaAnswer(error_code, session_id, topics)


def _read_row(body: memoryview, at: int) -> tuple[FetchedRow, int]:
    index, error_code, high_watermark, _, log_start = _PARTITION.unpack_from(body, at)
    aborted, at = read_uvarint(body, at + _PARTITION.size)
    at += max(0, aborted - 1) * _ABORTED_SIZE + _PREFERRED.size
    size, at = read_uvarint(body, at)
    end = at + max(0, size - 1)
    if end > len(body):
        raise Corrupt(f"{size - 1} bytes of records in an answer of {len(body)}")
    records = body[at:end]
    diverging, at = _read_tags(body, end)
    return FetchedRow(index, error_code, high_watermark, log_start, diverging, records), at


def _read_tags(body: memoryview, at: int) -> tuple[tuple[int, int] | None, int]:
    """Of a partition: only where logs part is of use to a follower."""
    count, at = read_uvarint(body, at)
    diverging = None
    for _ in range(count):
        tag, at = read_uvarint(body, at)
        size, at = read_uvarint(body, at)
        if tag == _DIVERGING:
            epoch, end_offset = _EPOCH_END.unpack_from(body, at)
            if epoch >= 0 or end_offset >= 0:
                diverging = (epoch, end_offset)
        at += size
    return diverging, at
