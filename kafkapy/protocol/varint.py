"""Unsigned varints (LEB128): lengths, counts and tags of flexible messages, and the
frames of the metadata log. The signed ones of records live with the record batch.
"""

from typing import Final

from kafkapy.core.errors import Corrupt

ONE_BYTE: Final = tuple(bytes((value,)) for value in range(128))
_LARGEST: Final = 2**31 - 1


def uvarint(value: int) -> bytes:
    if value < 128:
        return ONE_BYTE[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """The value at `position`, and the position behind it. What ends early, runs on past
    five bytes or is no length a signed 32-bit integer holds is Corrupt."""
    try:
        byte = data[position]
        if byte < 128:
            return byte, position + 1
        value = byte & 127
        byte = data[position + 1]
        if byte < 128:
            return value | byte << 7, position + 2
        value |= (byte & 127) << 7
        byte = data[position + 2]
        if byte < 128:
            return value | byte << 14, position + 3
        value |= (byte & 127) << 14
        byte = data[position + 3]
        if byte < 128:
            return value | byte << 21, position + 4
        value |= (byte & 127) << 21 | data[position + 4] << 28
    except IndexError:
        raise Corrupt("varint without an end") from None
    if value > _LARGEST:
        raise Corrupt(f"varint of {value}, or one that does not end")
    return value, position + 5


def skip_tags(data: bytes | memoryview, position: int) -> int:
    """Past a tag section that nobody reads."""
    size = len(data)
    count, position = read_uvarint(data, position)
    if count * 2 > size - position:
        raise Corrupt(f"{count} tags in {size - position} bytes")
    for _ in range(count):
        _, position = read_uvarint(data, position)
        length, position = read_uvarint(data, position)
        position += length
        if position > size:
            raise Corrupt("a tag is cut short")
    return position
