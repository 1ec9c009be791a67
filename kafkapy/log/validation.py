"""What a leader checks before it appends, and the bytes it appends (formats/records 5).

    header, size, CRC, counts --> fast path: stamp 61 bytes, keep the rest as it came
                             \\-> slow path: walk the records, then refuse, or stamp, or
                                 recompress and stamp

Kafka walks every record of every batch. The fast path believes a batch whose CRC is
right: its producer computed count, offsets and maximum timestamp, and nobody but its own
readers suffers if it lied. Records are walked only when a setting asks about them: a
compacted topic (keys), timestamps beyond the limits, another compression.type.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.seams import Bytes
from kafkapy.core.time import Instant
from kafkapy.log.append import NotOneBatch, Origin
from kafkapy.log.config import FOREVER_MS, LogConfig
from kafkapy.log.validation_records import (
    NO_TIMESTAMP,
    check_offsets,
    check_records,
    renumbered,
)
from kafkapy.protocol.batch import (
    CODEC_MASK,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    UnsupportedMagic,
    crc_is_valid,
    pack_header,
    payload,
    read_header,
    stamped,
)
from kafkapy.protocol.compression import Codec, compress
from kafkapy.protocol.records import (
    SMALLEST_RECORD,
    Record,
    has_keyless,
    read_varint,
    walk,
)

_CODECS: Final = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
# Compressed records begin so; what does not (joined streams may not) is looked into.
_FIRST_BYTES: Final = {
    Codec.GZIP: b"\x1f\x8b",
    Codec.LZ4: b"\x04\x22\x4d\x18",
    Codec.ZSTD: b"\x28\xb5\x2f\xfd",
}
# Kafka reads a batch's length once it has the bytes up to its magic; the shortest message
# there ever was took 14 bytes behind its length.
_SHORTEST_TAIL: Final = 17
SHORTEST_LENGTH: Final = 14
_MAGIC_POSITION: Final = 16
_KNOWN_BITS: Final = 0x7F


class ValidatedBatches(NamedTuple):
    """Ready to append: `parts` go out in one writev, `headers` are as stamped in them."""

    parts: list[Bytes]
    headers: list[BatchHeader]
    size: int
    log_append_time_ms: int  # -1 unless the topic uses LogAppendTime

    @property
    def first_offset(self) -> int:
        return self.headers[0].base_offset

    @property
    def last_offset(self) -> int:
        return self.headers[-1].last_offset


def validate(
    records: memoryview,
    config: LogConfig,
    *,
    origin: Origin,
    now: Instant,
    base_offset: int,
    leader_epoch: int,
) -> ValidatedBatches:
    """Judge what a leader was given and stamp it; Refused or RecordsRefused otherwise.

    A client sends exactly one batch, everyone else one or more.
    """
    check = _Check(config, origin, now, leader_epoch)
    parts: list[Bytes] = []
    headers: list[BatchHeader] = []
    position, end, size = 0, len(records), 0
    while end - position >= HEADER_SIZE:
        header = _header(records, position)
        if header.size > end - position:
            break
        if origin is Origin.CLIENT:
            _check_alone(records[position + header.size :])
        batch = records[position : position + header.size]
        header, head, body = check.batch(batch, header, base_offset)
        headers.append(header)
        parts += (head, body)
        size += header.size
        base_offset = header.next_offset
        position += len(batch)
        if origin is Origin.CLIENT:
            break
    if end - position >= _SHORTEST_TAIL:
        _check_tail(records[position:])
    if not headers:
        raise NotOneBatch("no whole record batch")
    return ValidatedBatches(
        parts, headers, size, now if config.uses_log_append_time else NO_TIMESTAMP
    )


def _check_tail(tail: memoryview) -> int:
    """Bytes behind the last batch: a batch that is cut off is ignored, as Kafka does, and
    anything else says that the whole is not what it claims to be. Their length."""
    length = int.from_bytes(tail[8:12], signed=True)
    if length < SHORTEST_LENGTH:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"a record batch of {length} bytes")
    if tail[_MAGIC_POSITION] > MAGIC:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"unknown magic {tail[_MAGIC_POSITION]}")
    return length


def _check_alone(tail: memoryview) -> None:
    """What follows a client's batch: nothing that is one itself."""
    if len(tail) >= _SHORTEST_TAIL and _check_tail(tail) + LOG_OVERHEAD <= len(tail):
        raise NotOneBatch("more than one record batch")


def _header(records: memoryview, position: int) -> BatchHeader:
    try:
        return read_header(records, position)
    except UnsupportedMagic as error:
        raise NotOneBatch(str(error)) from error
    except Corrupt as error:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error


class _Check:
    """The settings of one call, and the questions asked of each batch."""

    def __init__(self, config: LogConfig, origin: Origin, now: Instant, leader_epoch: int) -> None:
        self.config = config
        self.origin = origin
        self.now = now
        self.leader_epoch = leader_epoch

    def batch(
        self, batch: memoryview, header: BatchHeader, base_offset: int
    ) -> tuple[BatchHeader, bytes, Bytes]:
        """(header as stamped, its bytes, the records) of one whole batch."""
        config = self.config
        if self.origin is not Origin.RAFT:
            if self.origin is Origin.CLIENT and header.base_offset != 0:
                raise Refused(
                    ErrorCode.INVALID_RECORD, f"base offset {header.base_offset} instead of 0"
                )
            if header.size > config.max_message_bytes:
                raise self._too_large(header.size)
        if not crc_is_valid(batch, 0, header):
            raise Refused(ErrorCode.CORRUPT_MESSAGE, "the batch does not match its CRC")
        codec = self._codec(header)
        if self.origin is Origin.CLIENT:
            _check_client_header(header)
            _check_structure(batch, header, codec)
        if self.origin is Origin.RAFT:
            return self._stamp(batch, header, base_offset)
        target = self._target_codec(header, codec)
        if (
            target is not codec
            or self._asks_about_times(header)
            or self._lacks_keys(batch, header)
            or not _looks_compressed(batch, codec)
        ):
            return self._walk(batch, header, base_offset, target)
        if config.uses_log_append_time:
            return self._restamp(batch[HEADER_SIZE:], header, base_offset, header.attributes)
        return self._stamp(batch, header, base_offset)

    def _codec(self, header: BatchHeader) -> Codec:
        try:
            return header.codec
        except Corrupt as error:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error

    def _target_codec(self, header: BatchHeader, codec: Codec) -> Codec:
        """Control records stay as they are written: uncompressed."""
        wanted = self.config.compression_type
        if wanted == "producer" or header.is_control:
            return codec
        return _CODECS[wanted]

    def _asks_about_times(self, header: BatchHeader) -> bool:
        if self.origin is not Origin.CLIENT:
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
        )

    def _lacks_keys(self, batch: memoryview, header: BatchHeader) -> bool:
        if self.origin is not Origin.CLIENT or not self.config.is_compacted:
            return False
        try:
            return has_keyless(payload(batch, header), header.record_count)
        except Corrupt as error:
            raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error

    # -- the fast path

    def _stamp(
        self, batch: memoryview, header: BatchHeader, base_offset: int
    ) -> tuple[BatchHeader, bytes, Bytes]:
        head, header = stamped(batch, header, base_offset, self.leader_epoch)
        return header, head, batch[HEADER_SIZE:]

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
        self, batch: memoryview, header: BatchHeader, base_offset: int, target: Codec
    ) -> tuple[BatchHeader, bytes, Bytes]:
        try:
            unpacked = payload(batch, header)
            records = list(
                walk(
                    unpacked,
                    header.record_count,
                    header.base_offset,
                    header.base_timestamp,
                    header.max_timestamp if header.is_log_append_time else None,
                )
            )
        except Corrupt as error:
            raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error
        if self.origin is Origin.CLIENT:
            check_records(header, records, self.config, self.now)
        max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
        if target is not header.codec:
            return self._rewrite(header, records, base_offset, target, max_timestamp)
        if header.codec is not Codec.NONE:
            check_offsets(header, records)
        if self._header_holds(header, max_timestamp):
            return self._stamp(batch, header, base_offset)
        return self._restamp(
            batch[HEADER_SIZE:],
            header,
            base_offset,
            header.attributes,
            max_timestamp=max_timestamp,
        )

    def _rewrite(
        self,
        header: BatchHeader,
        records: Sequence[Record],
        base_offset: int,
        target: Codec,
        max_timestamp: int,
    ) -> tuple[BatchHeader, bytes, Bytes]:
        """The records with another codec. Old clients numbered those inside a compressed
        batch wrongly, so they are numbered anew, as ever."""
        unpacked, base_timestamp = renumbered(records)
        attributes = header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT) | target
        header, head, body = self._restamp(
            compress(target, unpacked, self._level(target)),
            header,
            base_offset,
            attributes,
            max_timestamp=max_timestamp,
            base_timestamp=base_timestamp,
        )
        if header.size > self.config.max_message_bytes:
            raise self._too_large(header.size)
        return header, head, body

    def _header_holds(self, header: BatchHeader, max_timestamp: int) -> bool:
        return (
            not self.config.uses_log_append_time
            and not header.is_log_append_time
            and header.max_timestamp == max_timestamp
        )

    def _level(self, codec: Codec) -> int | None:
        config = self.config
        return {
            Codec.GZIP: config.compression_gzip_level,
            Codec.LZ4: config.compression_lz4_level,
            Codec.ZSTD: config.compression_zstd_level,
        }.get(codec)

    def _too_large(self, size: int) -> Refused:
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
    expected = _FIRST_BYTES.get(codec)
    return expected is None or batch[HEADER_SIZE : HEADER_SIZE + len(expected)] == expected
