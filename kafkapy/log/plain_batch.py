"""The batch that nearly every client sends nearly always, judged in one go.

Exactly one whole batch, no control records, a codec that stays, times within the limits, a
right CRC: there is nothing to refuse and nothing to change but the offset and the epoch in
front. Whatever else it is, `validation` says: nothing is refused here, and what is plain
`validation` would take with the same bytes, for four times the price
(tests/log/test_plain_batch.py).

Only for topics with `LogConfig.asks_nothing_of_records`.
"""

from typing import Any

from crc32c import crc32c

from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.protocol.batch import (
    CRC_START,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TRANSACTIONAL_BIT,
    BatchHeader,
    stamped,
)
from kafkapy.protocol.compression import FIRST_BYTES
from kafkapy.protocol.records import SMALLEST_RECORD


def stamp_if_plain(
    batch: memoryview,
    header: BatchHeader,
    config: LogConfig,
    now: Instant,
    base_offset: int,
    leader_epoch: int,
) -> BatchHeader | None:
    """Its header as it will stand in the log; None if it is not of the plain kind."""
    fields: tuple[Any, ...] = header
    first, length, _, _, crc, attributes, last, _, newest, producer, _, sequence, count = fields
    size = len(batch)
    if (
        first
        or length != size - LOG_OVERHEAD
        or size > config.max_message_bytes
        or count <= 0
        or last != count - 1
        or newest - now > config.message_timestamp_after_max_ms
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
        if mark is None or size == HEADER_SIZE:
            return None
        if batch[HEADER_SIZE : HEADER_SIZE + len(mark)] != mark:
            return None
    if crc32c(batch[CRC_START:]) != crc:
        return None
    return stamped(header, base_offset, leader_epoch)


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
