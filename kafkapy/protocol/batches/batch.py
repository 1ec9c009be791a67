"""Record batches, magic 2: a header of 61 bytes before records that stay opaque.

      0 base offset       i64 |  21 attributes         i16 |  43 producer id     i64
      8 length after it   i32 |  23 last offset delta  i32 |  51 producer epoch  i16
     12 leader epoch      i32 |  27 base timestamp     i64 |  53 base sequence   i32
     16 magic             i8  |  35 max timestamp      i64 |  57 record count    i32
     17 crc               u32 |                            |  61 records

The CRC-32C covers everything from the attributes on, so the leader stamps offset and
epoch without touching it. Attributes: bits 0-2 codec, 3 LogAppendTime, 4 transactional,
5 control, 6 "the base timestamp is a delete horizon" (KIP-534).

Data may be any bytes-like; only `records` and `keys` look behind a header. Nobody else knows
where in a batch what stands.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from crc32c import crc32c

from kafkapy.core.errors import Corrupt
from kafkapy.core.limits import MAX_DECOMPRESSED_BATCH_BYTES
from kafkapy.core.seams import Bytes
from kafkapy.protocol.batches.records import (
    Headers,
    Key,
    NewRecord,
    Record,
    behind,
    encode,
    walk,
    walk_keys,
)
from kafkapy.protocol.compression.codecs import Codec, compress, decompress

__all__ = [
    "ATTRIBUTES_AT",
    "CONTROL_BIT",
    "CRC_START",
    "DELETE_HORIZON_BIT",
    "EXTENT_SIZE",
    "HEADER_SIZE",
    "LOG_APPEND_TIME_BIT",
    "LOG_OVERHEAD",
    "MAGIC",
    "STAMP_SIZE",
    "TRANSACTIONAL_BIT",
    "BatchHeader",
    "Codec",
    "Headers",
    "Key",
    "NewRecord",
    "Record",
    "UnsupportedMagic",
    "batches",
    "build_batch",
    "check_framing",
    "crc_is_valid",
    "extent_at",
    "fields_at",
    "first_attributes",
    "keys",
    "pack_batch",
    "pack_header",
    "pack_stamp",
    "payload",
    "read_header",
    "records",
    "records_from",
    "stamp",
    "stamp_of",
    "stamped",
]

HEADER_SIZE: Final = 61
LOG_OVERHEAD: Final = 12  # base offset and length: what `length` does not count
MAGIC: Final = 2
CODEC_MASK: Final = 0x07
LOG_APPEND_TIME_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40
MAX_SEQUENCE: Final = 2**31 - 1

# What the leader writes anew: base offset, length, epoch. The rest goes out as it came.
STAMP_SIZE: Final = 16
# What the CRC covers begins here.
CRC_START: Final = 21
ATTRIBUTES_AT: Final = 22  # the byte of them that has them all
_CODECS: Final = tuple(Codec)
_HEADER: Final = Struct(">qiibIhiqqqhii")
# `fields_at(data, position)`: those of BatchHeader, for who looks before making one.
fields_at: Final = _HEADER.unpack_from
_COVERED: Final = Struct(">hiqqqhii")  # the part of the header that the CRC covers
_STAMP_OFFSET: Final = Struct(">q")
_STAMP_EPOCH: Final = Struct(">i")
# `pack_stamp(base offset, length, leader epoch)`: the first STAMP_SIZE bytes.
pack_stamp: Final = Struct(">qii").pack
_EXTENT: Final = Struct(">qi11xi")
EXTENT_SIZE: Final = _EXTENT.size
# `extent_at(data, position)`: (base offset, length, last offset delta) of a batch, for scans.
extent_at: Final = _EXTENT.unpack_from
_FRAMING: Final = Struct(">8xi4xB")  # length and magic, in every format there was
_first_fields: Final = Struct(">8xi4xB4xh").unpack_from  # and attributes, in this one
# The shortest message there ever was took 14 bytes behind its length.
_SHORTEST_LENGTH: Final = 14
_new_tuple: Final = tuple.__new__


class UnsupportedMagic(Corrupt):
    """A message set of magic 0 or 1: valid once, not spoken here (Kafka 4 neither)."""


class BatchHeader(NamedTuple):
    """The 13 fields as they stand in the bytes, and what follows from them."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        try:
            return _CODECS[self.attributes & CODEC_MASK]
        except IndexError:
            raise Corrupt(f"unknown codec {self.attributes & CODEC_MASK}") from None

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_BIT != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_BIT != 0

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME_BIT != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0

    @property
    def delete_horizon_ms(self) -> int | None:
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def last_sequence(self) -> int:
        """-1 without sequences; past 2^31-1 they go on at 0."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE


def read_header(data: Bytes, position: int = 0) -> BatchHeader:
    """The header at `position`; the records behind it need not be there."""
    if len(data) - position < HEADER_SIZE:
        raise Corrupt(f"{len(data) - position} bytes are too few for a batch header")
    # As `BatchHeader(...)`, in a third of the time.
    header: BatchHeader = _new_tuple(BatchHeader, fields_at(data, position))
    if header.magic != MAGIC:
        if header.magic in (0, 1):
            raise UnsupportedMagic(f"message format {header.magic}")
        raise Corrupt(f"unknown magic {header.magic}")
    if header.length < HEADER_SIZE - LOG_OVERHEAD:
        raise Corrupt(f"a batch of {header.length} bytes is shorter than its header")
    return header


def first_attributes(records: Bytes) -> int | None:
    """Those of the first batch of what should be one or more. None: there is none of this
    format; Corrupt: nor can it be one of another."""
    if len(records) >= HEADER_SIZE:
        attributes: int
        length, magic, attributes = _first_fields(records)
        if magic == MAGIC and length >= HEADER_SIZE - LOG_OVERHEAD:
            return attributes
    check_framing(records)
    return None


def check_framing(data: Bytes, position: int = 0) -> int | None:
    """The length, behind itself, of a batch of whatever format, of which perhaps only the
    first bytes are there; None if not even these. Corrupt if there was never such a batch."""
    if len(data) - position < _FRAMING.size:
        return None
    length, magic = _FRAMING.unpack_from(data, position)
    if length < _SHORTEST_LENGTH:
        raise Corrupt(f"a record batch of {length} bytes")
    if magic > MAGIC:
        raise Corrupt(f"a record batch of format {magic}")
    assert isinstance(length, int)
    return length


def batches(data: Bytes) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each complete batch; a last batch that is cut off is not one."""
    position, end = 0, len(data)
    while end - position >= HEADER_SIZE:
        header = read_header(data, position)
        size = header.size
        if size > end - position:
            return
        yield position, header
        position += size


def crc_is_valid(data: Bytes, position: int, header: BatchHeader) -> bool:
    """Whether the (complete) batch at `position` holds what its CRC was made of."""
    start = position + CRC_START
    end = position + header.length + LOG_OVERHEAD
    return crc32c(memoryview(data)[start:end]) == header.crc


def stamp(data: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """What the leader writes into a batch that it appends; the CRC does not cover it."""
    _STAMP_OFFSET.pack_into(data, position, base_offset)
    _STAMP_EPOCH.pack_into(data, position + LOG_OVERHEAD, leader_epoch)


def stamped(header: BatchHeader, base_offset: int, leader_epoch: int) -> BatchHeader:
    """The header as `stamp` makes it."""
    fields: tuple[Any, ...] = header  # compiled, a NamedTuple is sliced field by field
    made: BatchHeader = _new_tuple(BatchHeader, (base_offset, fields[1], leader_epoch, *fields[3:]))
    return made


def stamp_of(header: BatchHeader) -> bytes:
    """The bytes that replace a batch's first STAMP_SIZE."""
    return pack_stamp(header.base_offset, header.length, header.leader_epoch)


def payload(batch: Bytes, header: BatchHeader, limit: int = MAX_DECOMPRESSED_BATCH_BYTES) -> bytes:
    """The records of one whole batch, unpacked; TooLarge if they are more than `limit`."""
    return decompress(header.codec, memoryview(batch)[HEADER_SIZE : header.size], limit)


def records(batch: Bytes) -> Iterator[Record]:
    """The records of one whole batch, control records included; the CRC is not checked."""
    header = _whole(batch)
    return walk(
        payload(batch, header),
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        header.max_timestamp if header.is_log_append_time else None,
    )


def records_from(payload: bytes, header: BatchHeader, offset: int) -> Iterator[Record]:
    """The records of one whole batch that is unpacked. Where none is missing (nothing was compacted
    away), those before `offset` are passed over without a look into them."""
    count = header.record_count
    before = offset - header.base_offset
    if 0 < before < count == header.last_offset_delta + 1:
        at = behind(payload, before)
        payload, count = payload[at:], count - before
    return walk(
        payload,
        count,
        header.base_offset,
        header.base_timestamp,
        header.max_timestamp if header.is_log_append_time else None,
    )


def keys(batch: Bytes) -> Iterator[Key]:
    """Offset, key and whether there is a value: the cheap walk, for compaction."""
    header = _whole(batch)
    return walk_keys(payload(batch, header), header.record_count, header.base_offset)


def build_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = -1,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    log_append_time_ms: int | None = None,
) -> bytes:
    """A batch as Kafka's producer builds it: at least one record, no gaps."""
    assert records, "a batch is built of one record or more"
    attributes = int(codec)
    if is_transactional:
        attributes |= TRANSACTIONAL_BIT
    if is_control:
        attributes |= CONTROL_BIT
    if log_append_time_ms is None:
        base_timestamp = records[0].timestamp
        max_timestamp = max(record.timestamp for record in records)
    else:
        attributes |= LOG_APPEND_TIME_BIT
        base_timestamp = max_timestamp = log_append_time_ms
        records = [record._replace(timestamp=log_append_time_ms) for record in records]
    packed = encode(records, base_timestamp)
    return pack_batch(
        packed if codec is Codec.NONE else compress(codec, packed, level),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )


def pack_batch(
    packed_records: Bytes,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytes:
    """Header and CRC before records that are encoded and compressed already."""
    return b"".join(
        (
            pack_header(
                packed_records,
                base_offset,
                leader_epoch,
                attributes,
                last_offset_delta,
                base_timestamp,
                max_timestamp,
                producer_id,
                producer_epoch,
                base_sequence,
                record_count,
            ),
            packed_records,
        )
    )


def pack_header(
    packed_records: Bytes,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytes:
    """The 61 bytes that belong before `packed_records`."""
    covered = (
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    crc = crc32c(packed_records, crc32c(_COVERED.pack(*covered)))
    length = HEADER_SIZE - LOG_OVERHEAD + len(packed_records)
    return _HEADER.pack(base_offset, length, leader_epoch, MAGIC, crc, *covered)


def _whole(batch: Bytes) -> BatchHeader:
    header = read_header(batch)
    if header.size > len(batch):
        raise Corrupt(f"a batch of {header.size} bytes in {len(batch)}")
    return header
