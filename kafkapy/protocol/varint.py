"""Unsigned varints (LEB128): lengths, counts and tags of flexible messages, and the
frames of the metadata log. The signed ones of records live with the record batch.
"""

from typing import Final

from kafkapy.core.errors import Corrupt

ONE_BYTE: Final = tuple(bytes((value,)) for value in range(128))
_LONGEST: Final = 5  # bytes; as Kafka, which reads into 32 bits
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
    value = shift = 0
    for byte in data[position : position + _LONGEST]:
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > _LARGEST:
                raise Corrupt(f"varint of {value}")
            return value, position
        shift += 7
    raise Corrupt("varint without an end")
