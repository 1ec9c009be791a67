"""A compressed payload in pieces, for who may not stop the loop and may not hold all of it.

    data ──> piece, piece, piece ...   none of more than PIECE_BYTES, some of them empty

The same bytes, and the same refusals, as `compression.decompress`. What is taken out in one go
beyond a piece is what the formats demand: a block of snappy (22 times its size), and 2 MiB of zstd.
An empty piece says that something was done and nothing came out: 50,000 empty members of gzip go
into a megabyte.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Final

import lz4.frame
import zstandard

from kafkapy.core.errors import Corrupt
from kafkapy.core.limits import MAX_DECOMPRESSED_BATCH_BYTES
from kafkapy.core.seams import Bytes
from kafkapy.protocol.compression.codecs import (
    GZIP_MAGIC,
    GZIP_WINDOW,
    ZSTD_MAX_WINDOW,
    Codec,
    TooLarge,
    snappy_blocks,
    unpack_snappy_block,
)
from kafkapy.protocol.compression.zstd_pieces import pieces_of_frame

PIECE_BYTES: Final = 64 * 1024
# What is given to an unpacker at once: it copies what it has not used yet.
_GIVEN_BYTES: Final = 4 * 1024

Pieces = Iterator[bytes]


def unpack(codec: Codec, data: Bytes, limit: int = MAX_DECOMPRESSED_BATCH_BYTES) -> Pieces:
    """All of `data` unpacked; Corrupt once it is broken, cut short or more than `limit`."""
    left = limit
    for part in _UNPACK[codec](memoryview(data), limit):
        left -= len(part)
        if left < 0:
            raise TooLarge(f"a batch of more than {limit} bytes when unpacked")
        if len(part) <= PIECE_BYTES:
            yield part
        else:
            for start in range(0, len(part), PIECE_BYTES):
                yield part[start : start + PIECE_BYTES]


def _none(data: memoryview, limit: int) -> Pieces:
    for start in range(0, len(data), PIECE_BYTES):
        yield bytes(data[start : start + PIECE_BYTES])


def _gzip(data: memoryview, limit: int) -> Pieces:
    at, end = 0, len(data)
    while True:
        member = zlib.decompressobj(GZIP_WINDOW)
        while not member.eof:
            given: Bytes = data[at : at + _GIVEN_BYTES]
            if not given:
                raise Corrupt("gzip: cut short")
            at += len(given)
            while given and not member.eof:
                try:
                    yield member.decompress(given, PIECE_BYTES)
                except zlib.error as error:
                    raise Corrupt(f"gzip: {error}") from error
                given = member.unconsumed_tail
        at -= len(member.unused_data)
        # Like Java's reader: what follows a member and is no member is not looked at.
        if at == end or bytes(data[at : at + 2]) != GZIP_MAGIC:
            return


def _snappy(data: memoryview, limit: int) -> Pieces:
    left = limit
    for block in snappy_blocks(data):
        part = unpack_snappy_block(block, left, limit)
        left -= len(part)
        yield part


def _lz4(data: memoryview, limit: int) -> Pieces:
    frame = lz4.frame.LZ4FrameDecompressor()
    at = 0
    while not frame.eof:
        given = b""
        if frame.needs_input:
            given = bytes(data[at : at + _GIVEN_BYTES])
            if not given:
                raise Corrupt("lz4: cut short")
            at += len(given)
        try:
            yield frame.decompress(given, max_length=PIECE_BYTES)
        except (RuntimeError, EOFError) as error:
            raise Corrupt(f"lz4: {error}") from error


def _zstd(data: memoryview, limit: int) -> Pieces:
    unpacker = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW)
    rest = data
    while True:
        frame = unpacker.decompressobj()
        given = 0
        for piece in pieces_of_frame(rest):
            given += len(piece)
            try:
                yield frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise Corrupt(f"zstd: {error}") from error
            if frame.eof:
                break
        else:
            raise Corrupt("zstd: cut short")
        rest = rest[given - len(frame.unused_data) :]
        if not rest:
            return


_UNPACK: Final[dict[Codec, Callable[[memoryview, int], Pieces]]] = {
    Codec.NONE: _none,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
