"""The records inside a batch, and nothing of its header (formats/records 2).

    varint length | i8 attributes | varlong timestamp delta | varint offset delta
    varint key size (-1: null) key | varint value size value
    varint headers | { varint size, key | varint size (-1: null), value }*

All of it is zig-zag varints, so walking records is the one loop over data that costs
per record. Most varints are one byte or two: those are read in line through a table,
the rest by a function. A size is believed no further than the bytes left: a record has
to end exactly where its own length says, and a slice beyond the data comes out short,
which the same comparison notices.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt

Headers = tuple[tuple[str, bytes | None], ...]

# v of one byte, un-zig-zagged.
_SMALL: Final = tuple((byte >> 1) ^ -(byte & 1) for byte in range(128))
# What a NamedTuple's own constructor calls; half the price in a loop.
_NEW: Final = tuple.__new__
# The shortest record: length, attributes, two deltas, two sizes, number of headers.
SMALLEST_RECORD: Final = 7


class Record(NamedTuple):
    """One record as a reader sees it: offset and timestamp absolute."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    attributes: int = 0


class NewRecord(NamedTuple):
    """One record to be written; its offset follows from its place in the batch."""

    key: bytes | None = None
    value: bytes | None = None
    timestamp: int = -1
    headers: Headers = ()


class Key(NamedTuple):
    """What compaction wants to know of a record, and where its bytes are."""

    offset: int
    key: bytes | None
    has_value: bool
    start: int
    end: int


def read_varint(data: bytes, position: int, most_bytes: int = 5) -> tuple[int, int]:
    """(value, position after it) of a zig-zag varint of at most `most_bytes` bytes."""
    value = shift = 0
    for byte in data[position : position + most_bytes]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + shift // 7
    raise Corrupt(f"a varint at {position} does not end")


def write_varint(value: int) -> bytes:
    """Zig-zag varint of a signed number of 64 bits; of a larger one, its last 64."""
    signed = value
    value = (value << 1) ^ (value >> 63)
    if value < 0x80:
        return _BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value > _ALL_BITS:
        signed = in_64_bits(signed)
        value = (signed << 1) ^ (signed >> 63)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def in_64_bits(value: int) -> int:
    """As Java counts: what is more than 64 bits hold comes round again from below."""
    return (value + _SIGN_BIT & _ALL_BITS) - _SIGN_BIT


_SIGN_BIT: Final = 1 << 63
_ALL_BITS: Final = (1 << 64) - 1
# Two numbers below it have a sum of 64 bits.
_FAR: Final = 1 << 62
_BYTE: Final = tuple(bytes((value,)) for value in range(128))


def walk(
    payload: bytes,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: int | None = None,
) -> Iterator[Record]:
    """The `count` records of an unpacked payload; Corrupt if they do not fill it exactly.

    `append_time` overrides every timestamp (LogAppendTime). Others are of 64 bits, whatever
    base and deltas say: what is written of one fits where it is to go.
    """
    if append_time is None and not -_FAR < base_timestamp < _FAR:
        for record in walk(payload, count, base_offset, 0):
            yield record._replace(timestamp=in_64_bits(base_timestamp + record.timestamp))
        return
    data, size, position = payload, len(payload), 0
    small, new = _SMALL, _NEW
    if count < 0 or count * SMALLEST_RECORD > size:
        raise Corrupt(f"{count} records in {size} bytes")
    try:
        for _ in range(count):
            length = data[position]
            if length < 0x80:
                length = small[length]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                length = length & 0x7F | more << 7
                length = (length >> 1) ^ -(length & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            end = position + length
            if length < 0 or end > size:
                raise Corrupt(f"a record of {length} bytes at {position} of {size}")
            attributes = data[position]
            position += 1

            delta = data[position]
            if delta < 0x80:
                delta = small[delta]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                delta = delta & 0x7F | more << 7
                delta = (delta >> 1) ^ -(delta & 1)
                position += 2
            else:
                delta, position = read_varint(data, position, 10)
                if not -_FAR < delta < _FAR:
                    delta = in_64_bits(base_timestamp + delta) - base_timestamp
            timestamp = base_timestamp + delta if append_time is None else append_time

            delta = data[position]
            if delta < 0x80:
                delta = small[delta]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                delta = delta & 0x7F | more << 7
                delta = (delta >> 1) ^ -(delta & 1)
                position += 2
            else:
                delta, position = read_varint(data, position)
            offset = base_offset + delta

            length = data[position]
            if length < 0x80:
                length = small[length]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                length = length & 0x7F | more << 7
                length = (length >> 1) ^ -(length & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            if length >= 0:
                key: bytes | None = data[position : position + length]
                position += length
            else:
                key = None

            length = data[position]
            if length < 0x80:
                length = small[length]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                length = length & 0x7F | more << 7
                length = (length >> 1) ^ -(length & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            if length >= 0:
                value: bytes | None = data[position : position + length]
                position += length
            else:
                value = None

            if data[position]:
                headers, position = _headers(data, position, end)
            else:
                headers = ()
                position += 1
            if position != end:
                raise Corrupt(f"a record that should end at {end} ends at {position}")
            yield new(Record, (offset, timestamp, key, value, headers, attributes))
    except IndexError:
        raise Corrupt(f"a record runs past the {size} bytes of its batch") from None
    if position != size:
        raise Corrupt(f"{size - position} bytes after the last record")


def behind(payload: bytes, count: int) -> int:
    """Where the first `count` records end: a look at their lengths, nothing else."""
    position = 0
    for _ in range(count):
        position = _next(payload, position)
    return position


def starts(payload: bytes, count: int) -> "array[int]":
    """Where each record of an unpacked payload begins: the same look."""
    size, position = len(payload), 0
    found = array("I")
    if count < 0 or count * SMALLEST_RECORD > size:
        raise Corrupt(f"{count} records in {size} bytes")
    for _ in range(count):
        found.append(position)
        position = _next(payload, position)
    if position != size:
        raise Corrupt(f"{size - position} bytes behind {count} records")
    return found


def _next(payload: bytes, position: int) -> int:
    """Where the record behind the one that begins here begins."""
    length, begin = read_varint(payload, position)
    end = begin + length
    if length < 0 or end > len(payload):
        raise Corrupt(f"a record of {length} bytes before {end} of {len(payload)}")
    return end


def walk_keys(payload: bytes, count: int, base_offset: int) -> Iterator[Key]:
    """As `walk`, but only what compaction needs: no value is copied, no header read."""
    data, size, position = payload, len(payload), 0
    small, new = _SMALL, _NEW
    if count < 0 or count * SMALLEST_RECORD > size:
        raise Corrupt(f"{count} records in {size} bytes")
    try:
        for _ in range(count):
            start = position
            length = data[position]
            if length < 0x80:
                length = small[length]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                length = length & 0x7F | more << 7
                length = (length >> 1) ^ -(length & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            end = position + length
            if length < 0 or end > size:
                raise Corrupt(f"a record of {length} bytes at {position} of {size}")
            position += 1  # attributes
            while data[position] >= 0x80:  # timestamp delta
                position += 1
            position += 1
            delta = data[position]
            if delta < 0x80:
                delta = small[delta]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                delta = delta & 0x7F | more << 7
                delta = (delta >> 1) ^ -(delta & 1)
                position += 2
            else:
                delta, position = read_varint(data, position)
            length = data[position]
            if length < 0x80:
                length = small[length]
                position += 1
            elif (more := data[position + 1]) < 0x80:
                length = length & 0x7F | more << 7
                length = (length >> 1) ^ -(length & 1)
                position += 2
            else:
                length, position = read_varint(data, position)
            if length >= 0:
                key: bytes | None = data[position : position + length]
                position += length
            else:
                key = None
            # A negative size is odd in zig-zag, and only -1 (one byte, 1) is allowed.
            has_value = data[position] != 1
            if position >= end:
                raise Corrupt(f"a record that should end at {end} has a key up to {position}")
            yield new(Key, (base_offset + delta, key, has_value, start, end))
            position = end
    except IndexError:
        raise Corrupt(f"a record runs past the {size} bytes of its batch") from None
    if position != size:
        raise Corrupt(f"{size - position} bytes after the last record")


def has_keyless(payload: bytes, count: int) -> bool:
    """Whether a record has no key: what a compacted topic asks of each batch, so nothing
    is decoded but lengths. Corrupt if the records do not fill the payload exactly."""
    data, size, position = payload, len(payload), 0
    small = _SMALL
    found = False
    try:
        for _ in range(count):
            length = data[position]
            if length < 0x80:
                end = position + 1 + small[length]
                position += 2
            elif (more := data[position + 1]) < 0x80:
                length = length & 0x7F | more << 7
                end = position + 2 + ((length >> 1) ^ -(length & 1))
                position += 3
            else:
                length, position = read_varint(data, position)
                end = position + length
                position += 1
            while data[position] >= 0x80:  # timestamp delta
                position += 1
            position += 1
            while data[position] >= 0x80:  # offset delta
                position += 1
            # Zig-zag: a negative key size is odd.
            if data[position + 1] & 1:
                found = True
            if not position < end <= size:
                raise Corrupt(f"a record that ends at {end} of {size}")
            position = end
    except IndexError:
        raise Corrupt(f"a record runs past the {size} bytes of its batch") from None
    if position != size:
        raise Corrupt(f"{size - position} bytes after the last record")
    return found


def _headers(data: bytes, position: int, end: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if not 0 <= count * 2 <= end - position:
        raise Corrupt(f"{count} headers in {end - position} bytes")
    small = _SMALL
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        length = data[position]
        if length < 0x80:
            length = small[length]
            position += 1
        else:
            length, position = read_varint(data, position)
        if not 0 <= length <= end - position:
            raise Corrupt(f"a header key of {length} bytes with {end - position} left")
        # What is no UTF-8 reads as Java reads it: Kafka takes such records.
        key = data[position : position + length].decode("utf-8", "replace")
        position += length
        length = data[position]
        if length < 0x80:
            length = small[length]
            position += 1
        else:
            length, position = read_varint(data, position)
        if length > end - position:
            raise Corrupt(f"a header value of {length} bytes with {end - position} left")
        if length >= 0:
            headers.append((key, data[position : position + length]))
            position += length
        else:
            headers.append((key, None))
    return tuple(headers), position


def encode(records: Sequence[NewRecord], base_timestamp: int) -> bytes:
    """The payload of a batch that holds `records` at offset deltas 0, 1, 2 ..."""
    out: list[bytes] = []
    for delta, record in enumerate(records):
        out += encode_record(
            delta,
            record.timestamp - base_timestamp,
            record.key,
            record.value,
            record.headers,
        )
    return b"".join(out)


def encode_record(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers = (),
    attributes: int = 0,
) -> tuple[bytes, ...]:
    """One record in parts, its length first."""
    parts = [_BYTE[attributes], write_varint(timestamp_delta), write_varint(offset_delta)]
    if key is None:
        parts.append(b"\x01")
    else:
        parts += (write_varint(len(key)), key)
    if value is None:
        parts.append(b"\x01")
    else:
        parts += (write_varint(len(value)), value)
    parts.append(write_varint(len(headers)))
    for name, content in headers:
        raw = name.encode()
        parts += (write_varint(len(raw)), raw)
        if content is None:
            parts.append(b"\x01")
        else:
            parts += (write_varint(len(content)), content)
    return (write_varint(sum(map(len, parts))), *parts)
