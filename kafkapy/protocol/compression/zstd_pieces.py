"""A zstd frame in pieces of which none holds more than 2 MiB (RFC 8878, 3.1.1).

    magic | descriptor | window, dictionary, size | block | block | ... | checksum
                                                    3 bytes: is it the last, of which kind, its size

Four bytes can be a block, and a block holds up to 128 KiB: who gives all of a frame to the library
gets all of it at once. The blocks' sizes say where to cut. They are advice: what is not understood
is cut so small that it holds no more either, and whether it is a frame is the library's to say.
"""

from collections.abc import Iterator
from typing import Final

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_BLOCKS: Final = 16
#: As many blocks as that, at most.
SMALL_BYTES: Final = 64
_BLOCK_HEADER_BYTES: Final = 3
_REPEATED: Final = 1
_RESERVED: Final = 3
# By two bits of the descriptor each.
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_CHECKSUM_BYTES: Final = 4


def pieces_of_frame(data: memoryview) -> Iterator[memoryview]:
    """All of `data`, which begins with a frame."""
    start = blocks = 0
    if len(data) > SMALL_BYTES:
        for end in _ends(data):
            blocks += 1
            if blocks == _BLOCKS:
                yield data[start:end]
                start, blocks = end, 0
            else:
                known = end
        if blocks:
            yield data[start:known]
            start = known
    for at in range(start, len(data), SMALL_BYTES):
        yield data[at : at + SMALL_BYTES]


def _ends(data: memoryview) -> Iterator[int]:
    """Where each block of the frame ends; the last one with the frame."""
    size = len(data)
    if bytes(data[:4]) != _MAGIC:
        return
    descriptor = data[4]
    is_single = descriptor >> 5 & 1
    at = 5 + (1 - is_single) + _DICTIONARY_BYTES[descriptor & 3]
    at += _CONTENT_SIZE_BYTES[descriptor >> 6] or is_single
    while at + _BLOCK_HEADER_BYTES <= size:
        header = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        kind = header >> 1 & 3
        at += _BLOCK_HEADER_BYTES + (1 if kind == _REPEATED else header >> 3)
        if kind == _RESERVED:
            return
        if header & 1:
            at += _CHECKSUM_BYTES if descriptor & 4 else 0
        if at > size:
            return
        yield at
        if header & 1:
            return
