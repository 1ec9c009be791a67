"""The verdict on what is to be appended: Refused or Corrupt, or the bytes to write with their
headers (formats/records 5).

    from a client      plain_batch --> stamp 16 bytes, keep the rest as it came
    or coordinator            \\-> header, size, CRC, counts --> stamp
                                             \\-> walk the records, then refuse, or stamp,
                                                 or recompress and stamp
    from the leader    CRC and order --> all bytes as they came

Kafka walks every record of every batch. Here a batch is believed whose CRC is right: its
producer computed count, offsets and maximum timestamp, and nobody but its own readers suffers
if it lied. Records are walked only when a setting asks about them: a compacted topic (keys),
timestamps beyond the limits, another compression.type; or when the header shows that it lies:
the first timestamp is no later than the largest one. What unpacks to more than may be walked in
one step is TooMuchAtOnce, and comes again once it is examined (log/examining.py).
"""

from collections.abc import Iterator
from typing import Final

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.limits import MOST_UNPACKED_AT_ONCE_BYTES
from kafkapy.core.seams import Bytes
from kafkapy.core.time import Instant
from kafkapy.log.append import NO_TIMESTAMP, Accepted, NotOneBatch, Origin, TooMuchAtOnce
from kafkapy.log.config import FOREVER_MS, LogConfig
from kafkapy.log.validation_records import check_offsets, check_records, renumbered
from kafkapy.protocol.batches.batch import (
    CODEC_MASK,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    STAMP_SIZE,
    BatchHeader,
    UnsupportedMagic,
    check_framing,
    crc_is_valid,
    pack_header,
    payload,
    read_header,
    stamp_of,
    stamped,
)
from kafkapy.protocol.batches.records import (
    SMALLEST_RECORD,
    Record,
    has_keyless,
    read_varint,
    walk,
)
from kafkapy.protocol.compression.codecs import FIRST_BYTES, Codec, TooLarge, compress

_CODECS: Final = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_KNOWN_BITS: Final = 0x7F
_new_tuple: Final = tuple.__new__


def validate(
    records: memoryview,
    config: LogConfig,
    *,
    origin: Origin,
    now: Instant,
    base_offset: int,
    leader_epoch: int,
) -> Accepted:
    """Judge what a leader was given and stamp it; Refused or RecordsRefused otherwise.

    A client sends exactly one batch, everyone else one or more.
    """
    check = Check(config, origin, now, leader_epoch)
    parts: list[Bytes] = []
    headers: list[BatchHeader] = []
    position, end, size = 0, len(records), 0
    while end - position >= HEADER_SIZE:
        header = _header(records, position)
        if header.size > end - position:
            break
        if check.is_clients:
            _check_alone(records, position + header.size)
        batch = records[position : position + header.size]
        header, head, body = check.batch(batch, header, base_offset)
        headers.append(header)
        parts += (head, body)
        size += header.size
        base_offset = header.next_offset
        position += len(batch)
        if check.is_clients:
            break
    _check_tail(records, position)
    if not headers:
        raise NotOneBatch("no whole record batch")
    return Accepted(parts, headers, size, now if config.uses_log_append_time else NO_TIMESTAMP)


def accept_from_leader(
    records: memoryview, log_end_offset: int, topic_partition: TopicPartition
) -> Accepted | None:
    """Judge what a follower was given: what it has already and a last batch that is cut off do
    not count; None if nothing is left. Corrupt: the leader must be asked again."""
    expected, end = log_end_offset, len(records)
    headers: list[BatchHeader] = []
    start = position = 0
    while end - position >= HEADER_SIZE:
        header = read_header(records, position)
        size = header.length + LOG_OVERHEAD
        if size > end - position:
            break
        if not crc_is_valid(records, position, header):
            raise Corrupt(f"{topic_partition}: bad CRC in the batch {header}")
        position += size
        next_offset = header.next_offset
        if next_offset <= expected and not headers:
            start = position
            continue
        if header.base_offset < expected or header.last_offset_delta < 0:
            raise Corrupt(f"{topic_partition}: expected {expected}, got {header}")
        headers.append(header)
        expected = next_offset
    if not headers:
        return None
    accepted: Accepted = _new_tuple(
        Accepted, ((records[start:position],), headers, position - start, NO_TIMESTAMP)
    )
    return accepted


def _check_tail(records: memoryview, position: int) -> int:
    """Bytes behind the last batch: a batch that is cut off is ignored, as Kafka does, and
    anything else says that the whole is not what it claims to be. What it would take."""
    try:
        length = check_framing(records, position)
    except Corrupt as error:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    return -1 if length is None else length + LOG_OVERHEAD


def _check_alone(records: memoryview, position: int) -> None:
    """What follows a client's batch: nothing that is one itself."""
    if 0 <= _check_tail(records, position) <= len(records) - position:
        raise NotOneBatch("more than one record batch")


def _header(records: memoryview, position: int) -> BatchHeader:
    try:
        return read_header(records, position)
    except UnsupportedMagic as old:
        raise NotOneBatch(str(old)) from old
    except Corrupt as error:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error


def records_at_once(batch: memoryview) -> Iterator[Record]:
    """Of a client's batch whose header is believed."""
    header = read_header(batch)
    return walk(
        _unpacked_at_once(batch, header),
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        append_time_of(header),
    )


def append_time_of(header: BatchHeader) -> int | None:
    return header.max_timestamp if header.is_log_append_time else None


def _unpacked_at_once(batch: memoryview, header: BatchHeader) -> bytes:
    if header.codec is Codec.NONE:
        return payload(batch, header)
    try:
        return payload(batch, header, MOST_UNPACKED_AT_ONCE_BYTES)
    except TooLarge:
        raise TooMuchAtOnce from None


class Check:
    """The settings of one call, and the questions asked of each batch."""

    def __init__(self, config: LogConfig, origin: Origin, now: Instant, leader_epoch: int) -> None:
        self.config = config
        self.origin = origin
        self.is_clients = origin is Origin.CLIENT or origin is Origin.EXAMINED
        self.now = now
        self.leader_epoch = leader_epoch

    def batch(
        self, batch: memoryview, header: BatchHeader, base_offset: int
    ) -> tuple[BatchHeader, bytes, Bytes]:
        """(header as stamped, the bytes of it that are new, the rest) of one whole batch."""
        codec = self.header(batch, header)
        if self.origin is Origin.RAFT:
            return self._stamp(batch, header, base_offset)
        if self.origin is not Origin.EXAMINED and (
            self.asks_about_records(batch, header, codec) or self._lacks_keys(batch, header)
        ):
            return self._walk(batch, header, base_offset)
        if self.config.uses_log_append_time:
            return self._restamp(batch[HEADER_SIZE:], header, base_offset, header.attributes)
        return self._stamp(batch, header, base_offset)

    def header(self, batch: memoryview, header: BatchHeader) -> Codec:
        """Refused for what can be said without looking into it."""
        config = self.config
        if self.origin is not Origin.RAFT:
            if self.is_clients and header.base_offset != 0:
                raise Refused(
                    ErrorCode.INVALID_RECORD, f"base offset {header.base_offset} instead of 0"
                )
            if header.size > config.max_message_bytes:
                raise self.too_large(header.size)
        if not crc_is_valid(batch, 0, header):
            raise Refused(ErrorCode.CORRUPT_MESSAGE, "the batch does not match its CRC")
        codec = self._codec(header)
        if self.is_clients:
            _check_client_header(header)
            _check_structure(batch, header, codec)
        return codec

    def asks_about_records(self, batch: memoryview, header: BatchHeader, codec: Codec) -> bool:
        """About more of them than whether they have keys."""
        return (
            self.target_codec(header, codec) is not codec
            or self._asks_about_times(header)
            or not _looks_compressed(batch, codec)
        )

    def _codec(self, header: BatchHeader) -> Codec:
        try:
            return header.codec
        except Corrupt as error:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error

    def target_codec(self, header: BatchHeader, codec: Codec) -> Codec:
        """Control records stay as they are written: uncompressed."""
        wanted = self.config.compression_type
        if wanted == "producer" or header.is_control:
            return codec
        return _CODECS[wanted]

    def _asks_about_times(self, header: BatchHeader) -> bool:
        if not self.is_clients:
            return False
        config = self.config
        if header.is_log_append_time:
            return True
        if config.uses_log_append_time:
            return False
        # The header knows the latest timestamp, not the earliest.
        return (
            header.max_timestamp - self.now > config.message_timestamp_after_max_ms
            or config.message_timestamp_before_max_ms != FOREVER_MS
            or not NO_TIMESTAMP <= header.base_timestamp <= header.max_timestamp
        )

    def _lacks_keys(self, batch: memoryview, header: BatchHeader) -> bool:
        if self.origin is not Origin.CLIENT or not self.config.is_compacted:
            return False
        try:
            return has_keyless(_unpacked_at_once(batch, header), header.record_count)
        except Corrupt as error:
            raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error

    # -- the fast path

    def stamp_walked(
        self, batch: memoryview, header: BatchHeader, base_offset: int, max_timestamp: int
    ) -> tuple[BatchHeader, bytes, Bytes]:
        """One whose records are as they should be, the latest of them of `max_timestamp`."""
        if self._header_holds(header, max_timestamp):
            return self._stamp(batch, header, base_offset)
        return self._restamp(
            batch[HEADER_SIZE:],
            header,
            base_offset,
            header.attributes,
            max_timestamp=max_timestamp,
        )

    def stamp_rewritten(
        self,
        body: bytes,
        header: BatchHeader,
        base_offset: int,
        base_timestamp: int,
        max_timestamp: int,
    ) -> tuple[BatchHeader, bytes, Bytes]:
        """One whose records are `body` now, in the codec they should have."""
        target = self.target_codec(header, header.codec)
        attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT) | target
        header, head, records = self._restamp(
            body,
            header,
            base_offset,
            attributes,
            max_timestamp=max_timestamp,
            base_timestamp=base_timestamp,
        )
        if header.size > self.config.max_message_bytes:
            raise self.too_large(header.size)
        return header, head, records

    def _stamp(
        self, batch: memoryview, header: BatchHeader, base_offset: int
    ) -> tuple[BatchHeader, bytes, Bytes]:
        header = stamped(header, base_offset, self.leader_epoch)
        return header, stamp_of(header), batch[STAMP_SIZE:]

    def _restamp(
        self,
        body: Bytes,
        header: BatchHeader,
        base_offset: int,
        attributes: int,
        *,
        max_timestamp: int | None = None,
        base_timestamp: int | None = None,
    ) -> tuple[BatchHeader, bytes, Bytes]:
        """A new header with a new CRC before records that may be as they were."""
        if self.config.uses_log_append_time:
            attributes |= LOG_APPEND_TIME_BIT
            max_timestamp = self.now
        else:
            attributes &= ~LOG_APPEND_TIME_BIT
        attributes &= _KNOWN_BITS
        head = pack_header(
            body,
            base_offset,
            self.leader_epoch,
            attributes,
            header.last_offset_delta,
            header.base_timestamp if base_timestamp is None else base_timestamp,
            header.max_timestamp if max_timestamp is None else max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.record_count,
        )
        return read_header(head), head, body

    # -- the slow path

    def _walk(
        self, batch: memoryview, header: BatchHeader, base_offset: int
    ) -> tuple[BatchHeader, bytes, Bytes]:
        try:
            unpacked = self._unpacked(batch, header)
            records = list(
                walk(
                    unpacked,
                    header.record_count,
                    header.base_offset,
                    header.base_timestamp,
                    append_time_of(header),
                )
            )
        except Corrupt as error:
            raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error
        if self.is_clients:
            check_records(header, records, self.config, self.now)
        max_timestamp = max([NO_TIMESTAMP, *[record.timestamp for record in records]])
        target = self.target_codec(header, header.codec)
        if target is not header.codec:
            # Old clients numbered the records inside a compressed batch wrongly, so they are
            # numbered anew, as ever.
            unpacked, base_timestamp = renumbered(records)
            body = compress(target, unpacked, self.level(target))
            return self.stamp_rewritten(body, header, base_offset, base_timestamp, max_timestamp)
        if header.codec is not Codec.NONE:
            check_offsets(header, records)
        return self.stamp_walked(batch, header, base_offset, max_timestamp)

    def _unpacked(self, batch: memoryview, header: BatchHeader) -> bytes:
        if self.is_clients:
            return _unpacked_at_once(batch, header)
        return payload(batch, header)

    def _header_holds(self, header: BatchHeader, max_timestamp: int) -> bool:
        return (
            not self.config.uses_log_append_time
            and not header.is_log_append_time
            and header.max_timestamp == max_timestamp
        )

    def level(self, codec: Codec) -> int | None:
        config = self.config
        return {
            Codec.GZIP: config.compression_gzip_level,
            Codec.LZ4: config.compression_lz4_level,
            Codec.ZSTD: config.compression_zstd_level,
        }.get(codec)

    def too_large(self, size: int) -> Refused:
        return Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"a record batch of {size} bytes where max.message.bytes is "
            f"{self.config.max_message_bytes}",
        )


def _check_client_header(header: BatchHeader) -> None:
    count = header.record_count
    if count <= 0 or header.last_offset_delta != count - 1:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"{count} records with a last offset delta of {header.last_offset_delta}",
        )
    if header.is_control:
        raise Refused(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"sequence {header.base_sequence} with producer id {header.producer_id}",
        )


def _check_structure(batch: memoryview, header: BatchHeader, codec: Codec) -> None:
    """What can be said about the records without walking them."""
    size = header.size - HEADER_SIZE
    if codec is not Codec.NONE:
        if size == 0:
            raise Refused(ErrorCode.INVALID_RECORD, "a compressed batch without data")
        return
    if header.record_count * SMALLEST_RECORD > size:
        raise Refused(ErrorCode.INVALID_RECORD, f"{header.record_count} records in {size} bytes")
    length, start = batch[HEADER_SIZE], 1
    if length < 0x80:
        length = (length >> 1) ^ -(length & 1)
    else:
        try:
            length, start = read_varint(bytes(batch[HEADER_SIZE : HEADER_SIZE + 5]), 0)
        except Corrupt as error:
            raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error
    end = start + length
    if length < SMALLEST_RECORD - 1 or end > size or (header.record_count == 1 and end != size):
        raise Refused(ErrorCode.INVALID_RECORD, f"a first record of {length} bytes in {size} bytes")


def _looks_compressed(batch: memoryview, codec: Codec) -> bool:
    expected = FIRST_BYTES.get(codec)
    return expected is None or batch[HEADER_SIZE : HEADER_SIZE + len(expected)] == expected
