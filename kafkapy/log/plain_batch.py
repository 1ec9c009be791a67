"""The batch that nearly every client sends nearly always, judged in one go.

Exactly one whole batch, no control records, a codec that stays, times within the limits, a
right CRC: there is nothing to refuse and nothing to change but the offset and the epoch in
front. A batch of a transaction is of the kind where the caller says so: whether it is open
here is for him to know. Whatever else it is, `validation` says; nothing is refused
here, and what is taken here `validation` would take with the same bytes
(tests/log/test_plain_batch.py). It costs a quarter of the long way.

Only for topics with `LogConfig.takes_plain_batches`.
"""

from struct import Struct
from typing import Final

from crc32c import crc32c

from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.protocol.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
)
from kafkapy.protocol.compression import Codec
from kafkapy.protocol.records import SMALLEST_RECORD

_HEADER: Final = Struct(">qiibIhiqqqhii").unpack_from
_STAMP: Final = Struct(">qii").pack
_CRC_START: Final = 21
_new_tuple: Final = tuple.__new__
# What the leader writes anew: base offset, length, epoch. The rest goes out as it came.
STAMP_SIZE: Final = 16
# Compressed records begin so. Snappy has no mark, and its bodies are long enough to be some.
_MARKS: Final = {
    Codec.GZIP.value: b"\x1f\x8b",
    Codec.SNAPPY.value: b"",
    Codec.LZ4.value: b"\x04\x22\x4d\x18",
    Codec.ZSTD.value: b"\x28\xb5\x2f\xfd",
}


def read_plain_batch(
    batch: memoryview,
    config: LogConfig,
    now: Instant,
    base_offset: int,
    leader_epoch: int,
    may_be_transactional: bool = False,
) -> BatchHeader | None:
    """Its header as it will stand in the log; None if it is not of the plain kind."""
    size = len(batch)
    if not HEADER_SIZE < size <= config.max_message_bytes:
        return None
    fields = _HEADER(batch)
    first, length, _, magic, crc, attributes, last, _, newest, producer, _, sequence, count = fields
    if (
        first
        or length != size - LOG_OVERHEAD
        or magic != MAGIC
        or count <= 0
        or last != count - 1
        or newest - now > config.message_timestamp_after_max_ms
        or (sequence < 0 and producer >= 0)
    ):
        return None
    codec = attributes
    if may_be_transactional and attributes & TRANSACTIONAL_BIT and producer >= 0:
        codec ^= TRANSACTIONAL_BIT
    if not codec:
        if count * SMALLEST_RECORD > size - HEADER_SIZE or not _first_record_fits(
            batch, size - HEADER_SIZE, count
        ):
            return None
    else:
        mark = _MARKS.get(codec)
        if mark is None or batch[HEADER_SIZE : HEADER_SIZE + len(mark)] != mark:
            return None
    if crc32c(batch[_CRC_START:]) != crc:
        return None
    # As `BatchHeader(...)`, in a third of the time.
    return _new_tuple(BatchHeader, (base_offset, length, leader_epoch, *fields[3:]))


def stamp_of(header: BatchHeader) -> bytes:
    """The bytes that replace the batch's first STAMP_SIZE."""
    return _STAMP(header.base_offset, header.length, header.leader_epoch)


def _first_record_fits(batch: memoryview, size: int, count: int) -> bool:
    """Its length, read from one or two bytes of varint, makes sense."""
    length = batch[HEADER_SIZE]
    start = 1
    if length > 0x7F:
        more = batch[HEADER_SIZE + 1]
        if more > 0x7F:
            return False
        length += (more << 7) - 0x80
        start = 2
    if length & 1 or length >> 1 < SMALLEST_RECORD - 1:
        return False
    end = start + (length >> 1)
    return end == size if count == 1 else end <= size
