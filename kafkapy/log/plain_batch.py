"""The batch that nearly every client sends nearly always, judged in one go.

Exactly one whole batch, no control records, a codec that stays, times in order and within the
limits, a right CRC: there is nothing to refuse and nothing to change but the offset and the
epoch in front. Whatever else it is, `validation` says: nothing is refused here, and what is
plain `validation` would take with the same bytes, for four times the price
(tests/log/test_plain_batch.py).

Only for topics with `LogConfig.asks_nothing_of_records`.
"""

from typing import Final

from crc32c import crc32c

from kafkapy.protocol.batches.batch import (
    CRC_START,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
    BatchHeader,
    fields_at,
)
from kafkapy.protocol.batches.records import SMALLEST_RECORD
from kafkapy.protocol.compression.codecs import FIRST_BYTES

_NO_TIMESTAMP: Final = -1
_new_tuple: Final = tuple.__new__


def stamp_if_plain(
    batch: memoryview, max_timestamp: int, base_offset: int, leader_epoch: int
) -> BatchHeader | None:
    """Its header as it will stand in the log; None if it is not of the plain kind."""
    size = len(batch)
    if size <= HEADER_SIZE:
        return None
    (
        first,
        length,
        _,
        magic,
        crc,
        attributes,
        last,
        oldest,
        newest,
        producer,
        epoch,
        sequence,
        count,
    ) = fields_at(batch)
    if (
        first
        or length != size - LOG_OVERHEAD
        or magic != MAGIC
        or count <= 0
        or last != count - 1
        or oldest > newest
        or newest > max_timestamp
        or oldest < _NO_TIMESTAMP
        or (sequence < 0 and producer >= 0)
    ):
        return None
    codec = attributes
    if attributes & TRANSACTIONAL_BIT and producer >= 0:
        codec ^= TRANSACTIONAL_BIT
    if not codec:
        left = size - HEADER_SIZE
        if count * SMALLEST_RECORD > left or not _first_record_fits(batch, left, count):
            return None
    else:
        mark = FIRST_BYTES.get(codec)
        if mark is None or batch[HEADER_SIZE : HEADER_SIZE + len(mark)] != mark:
            return None
    if crc32c(batch[CRC_START:]) != crc:
        return None
    # As `stamped` makes it, without making the header that came.
    fields = (
        base_offset,
        length,
        leader_epoch,
        magic,
        crc,
        attributes,
        last,
        oldest,
        newest,
        producer,
        epoch,
        sequence,
        count,
    )
    header: BatchHeader = _new_tuple(BatchHeader, fields)
    return header


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
