"""Whole records out of a payload that comes in pieces (protocol/compression/unpacking.py).

pieces ──> Whole(data, records)  some records, one behind the other
           Large(data, length)   the beginning of one too long to be kept together ...
           More(data)            ... and the rest of it; empty when there is nothing yet
"""

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.batches.records import SMALLEST_RECORD, read_varint

#: A record may have this many bytes and come whole. Larger than most there are, and little to keep.
LARGE_BYTES: Final = 256 * 1024
# Of a Large record there are at least so many: its length, attributes, two deltas, a key's size.
HEAD_BYTES: Final = 5 + 1 + 10 + 5 + 5
_MOST_LENGTH_BYTES: Final = 5


class Whole(NamedTuple):
    data: bytes
    records: int


class Large(NamedTuple):
    """`data` begins behind the record's length."""

    data: bytes
    length: int


class More(NamedTuple):
    data: bytes


Window = Whole | Large | More


def windows(pieces: Iterator[bytes], *, large_bytes: int = LARGE_BYTES) -> Iterator[Window]:
    """Corrupt if the last record does not end with the last piece."""
    held: list[bytes] = []
    size = 0
    needed = 1  # before `held` is worth a look
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < needed:
            yield More(b"")
            continue
        data = b"".join(held)
        count, end, needed = _whole_records(data)
        if count:
            yield Whole(data[:end], count)
        data = data[end:]
        if needed > large_bytes and len(data) >= HEAD_BYTES:
            length, begin = read_varint(data, 0)
            yield Large(data[begin:], length)
            data = yield from _rest(pieces, length - len(data) + begin)
            needed = 1
        elif needed > large_bytes:
            needed = HEAD_BYTES
        held, size = [data], len(data)
    if size:
        yield from _last(b"".join(held))


def _rest(pieces: Iterator[bytes], left: int) -> Generator[Window, None, bytes]:
    """Of a large record; returns what came behind it."""
    for piece in pieces:
        yield More(piece[:left])
        left -= len(piece)
        if left <= 0:
            return piece[len(piece) + left :]
    raise Corrupt(f"a record that lacks {left} bytes")


def _last(data: bytes) -> Iterator[Window]:
    count, end, _ = _whole_records(data)
    if count:
        yield Whole(data[:end], count)
    if end != len(data):
        raise Corrupt(f"{len(data) - end} bytes after the last whole record")


def _whole_records(data: bytes) -> tuple[int, int, int]:
    """(how many there are, where they end, what the next one needs: at least a byte more than
    is there)."""
    size, position, count = len(data), 0, 0
    while size - position >= _MOST_LENGTH_BYTES:
        length = data[position]
        if length < 0x80:
            begin = position + 1
            length = (length >> 1) ^ -(length & 1)
        elif (more := data[position + 1]) < 0x80:
            begin = position + 2
            length = length & 0x7F | more << 7
            length = (length >> 1) ^ -(length & 1)
        else:
            length, begin = read_varint(data, position)
        if length < SMALLEST_RECORD - 1:
            raise Corrupt(f"a record of {length} bytes")
        end = begin + length
        if end > size:
            return count, position, end - position
        position = end
        count += 1
    return count, position, size - position + 1
