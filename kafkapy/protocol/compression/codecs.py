"""The four codecs of a record batch, in the framing that Kafka's clients use.

    gzip    RFC 1952, members may be concatenated
    snappy  xerial framing: magic, two versions, then {i32 size, raw block}*; readers
            also meet one raw block without any framing (librdkafka, Go)
    lz4     LZ4 frame: independent blocks of 64 KiB, no checksums, no content size
    zstd    frames with or without a content size

A compressed batch says nothing that may be believed about its size, so every reader
counts what comes out and stops at `limit`: no bomb is unpacked before it is noticed.
"""

import zlib
from collections.abc import Callable, Generator, Iterator
from enum import IntEnum
from struct import Struct
from typing import Final

import lz4.frame
import snappy
import zstandard

from kafkapy.core.errors import Corrupt
from kafkapy.core.limits import MAX_DECOMPRESSED_BATCH_BYTES
from kafkapy.core.seams import Bytes
from kafkapy.protocol.compression.zstd_pieces import pieces_of_frame

CompressionSteps = Generator[int, None, bytes]


class TooLarge(Corrupt):
    """More than the limit comes out."""


class Codec(IntEnum):
    """Bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# What is compressed begins so. Snappy has no mark, and streams that were joined may have none.
FIRST_BYTES: Final[dict[int, bytes]] = {
    Codec.GZIP: b"\x1f\x8b",
    Codec.SNAPPY: b"",
    Codec.LZ4: b"\x04\x22\x4d\x18",
    Codec.ZSTD: b"\x28\xb5\x2f\xfd",
}


def compress(codec: Codec, data: Bytes, level: int | None = None) -> bytes:
    """`level` None is Kafka's default of the codec; snappy has no levels."""
    return _COMPRESS[codec](data, level)


def compress_in_steps(codec: Codec, data: Bytes, level: int | None = None) -> CompressionSteps:
    """As `compress`, for who may not stop the loop: yields the bytes taken, returns the
    same result. gzip takes 30 ms for a megabyte; the others a tenth of that, in one step."""
    if codec is Codec.GZIP:
        return (yield from _gzip_in_steps(data, level))
    yield len(data)
    return compress(codec, data, level)


def decompress(codec: Codec, data: Bytes, limit: int = MAX_DECOMPRESSED_BATCH_BYTES) -> bytes:
    """All of `data` unpacked; Corrupt if it is broken, cut short or more than `limit`."""
    return _DECOMPRESS[codec](data, limit)


# -- none


def _store(data: Bytes, level: int | None) -> bytes:
    return bytes(data)


def _fetch(data: Bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise _too_large(limit)
    return bytes(data)


# -- gzip

GZIP_WINDOW: Final = 31  # 15 bits of window, plus 16: a gzip header, not a zlib one
GZIP_MAGIC: Final = b"\x1f\x8b"
# The header's operating system. Java says "unknown", zlib "Unix"; the rest of the stream is
# the same, and what was recompressed or compacted can be compared with Kafka's bytes.
_GZIP_SYSTEM_AT: Final = 9
_GZIP_UNKNOWN_SYSTEM: Final = b"\xff"
_GZIP_STEP: Final = 64 * 1024
_GZIP_PIECE: Final = 1024


def _gzip(data: Bytes, level: int | None) -> bytes:
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, GZIP_WINDOW)
    return as_java_packs(packer.compress(data) + packer.flush())


def _gzip_in_steps(data: Bytes, level: int | None) -> CompressionSteps:
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, GZIP_WINDOW)
    view = memoryview(data)
    parts = []
    for start in range(0, len(view), _GZIP_STEP):
        parts.append(packer.compress(view[start : start + _GZIP_STEP]))
        yield min(_GZIP_STEP, len(view) - start)
    return as_java_packs(b"".join((*parts, packer.flush())))


def as_java_packs(packed: bytes) -> bytes:
    """The same gzip stream, of an unknown system."""
    return packed[:_GZIP_SYSTEM_AT] + _GZIP_UNKNOWN_SYSTEM + packed[_GZIP_SYSTEM_AT + 1 :]


def _gunzip(data: Bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    view = memoryview(data)
    # All at once, since nearly everything is one member. Behind others in pieces: each copies
    # what its piece has beyond it, and 50,000 empty members go into a megabyte.
    left, rest, piece = limit, view, len(view)
    while True:
        member = zlib.decompressobj(GZIP_WINDOW)
        while not member.eof:
            if not rest:
                raise Corrupt("gzip: cut short")
            try:
                part = member.decompress(rest[:piece], left + 1)
            except zlib.error as error:
                raise Corrupt(f"gzip: {error}") from error
            left -= len(part)
            if left < 0:
                raise _too_large(limit)
            parts.append(part)
            rest = rest[piece:]
        rest = view[len(view) - len(rest) - len(member.unused_data) :]
        piece = _GZIP_PIECE
        # Like Java's reader: what follows a member and is no member is not looked at.
        if bytes(rest[:2]) != GZIP_MAGIC:
            return parts[0] if len(parts) == 1 else b"".join(parts)


# -- snappy

_XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = _XERIAL_MAGIC + (1).to_bytes(4) + (1).to_bytes(4)
SNAPPY_CHUNK: Final = 32 * 1024
_SIZE: Final = Struct(">i")
# The densest element of a block copies 64 bytes and takes 3.
_SNAPPY_MOST_PER_BYTE: Final = 22


def _snap(data: Bytes, level: int | None) -> bytes:
    view = memoryview(data)
    parts = [XERIAL_HEADER]
    for start in range(0, len(view), SNAPPY_CHUNK):
        parts += snappy_chunk(view[start : start + SNAPPY_CHUNK])
    return b"".join(parts)


def snappy_chunk(data: Bytes) -> tuple[bytes, bytes]:
    """At most SNAPPY_CHUNK, with its size before it."""
    block = snappy.compress(data)
    return _SIZE.pack(len(block)), block


def _unsnap(data: Bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    left = limit
    for block in snappy_blocks(memoryview(data)):
        part = unpack_snappy_block(block, left, limit)
        left -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def snappy_blocks(view: memoryview) -> Iterator[memoryview]:
    """Those of a stream, or the one that has none around it."""
    if bytes(view[:8]) != _XERIAL_MAGIC:
        yield view
        return
    position, end = len(XERIAL_HEADER), len(view)
    if end < position:
        raise Corrupt("snappy: cut short in the xerial header")
    while position < end:
        if position + 4 > end:
            raise Corrupt("snappy: cut short before a chunk")
        # Streams may be joined too: a whole header stands where a size was expected.
        if bytes(view[position : position + 8]) == _XERIAL_MAGIC:
            position += len(XERIAL_HEADER)
            continue
        (size,) = _SIZE.unpack_from(view, position)
        position += 4
        if not 0 <= size <= end - position:
            raise Corrupt(f"snappy: a chunk of {size} bytes with {end - position} left")
        yield view[position : position + size]
        position += size


def unpack_snappy_block(block: memoryview, left: int, limit: int) -> bytes:
    """Of `limit` bytes that may come out, `left` still may."""
    claimed = shift = 0
    for byte in block[:5]:
        claimed |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    else:
        raise Corrupt("snappy: no size before the block")
    if claimed > left:
        raise _too_large(limit)
    if claimed > _SNAPPY_MOST_PER_BYTE * len(block):
        raise Corrupt(f"snappy: {len(block)} bytes claim to hold {claimed}")
    try:
        unpacked: bytes = snappy.uncompress(block)
    except snappy.UncompressError as error:
        raise Corrupt(f"snappy: {error}") from error
    return unpacked


# -- lz4

_LZ4_FAST: Final = 9  # Kafka's default, which means "the fast compressor", not level 9
_LZ4_HIGH_MIN: Final = 3  # below it the library would use the fast compressor
_LZ4_HIGH_MAX: Final = 12
# A byte of a block says "255 more" at most. What may come out is allocated beforehand.
_LZ4_MOST_PER_BYTE: Final = 256


def _lz4(data: Bytes, level: int | None) -> bytes:
    packed: bytes = lz4.frame.compress(
        data,
        compression_level=lz4_level(level),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return packed


def lz4_level(level: int | None) -> int:
    """Kafka's, as the library counts them."""
    if level is None or level == _LZ4_FAST:
        return 0
    return min(max(level, _LZ4_HIGH_MIN), _LZ4_HIGH_MAX)


def _unlz4(data: Bytes, limit: int) -> bytes:
    frame = lz4.frame.LZ4FrameDecompressor()
    try:
        most = min(limit + 1, _LZ4_MOST_PER_BYTE * len(data))
        unpacked: bytes = frame.decompress(data, max_length=most)
    except (RuntimeError, EOFError) as error:
        raise Corrupt(f"lz4: {error}") from error
    if len(unpacked) > limit:
        raise _too_large(limit)
    if not frame.eof:
        raise Corrupt("lz4: cut short")
    return unpacked


# -- zstd

ZSTD_LEVEL: Final = 3
ZSTD_MAX_WINDOW: Final = 1 << 27  # what every zstd library accepts unasked


def _zstd(data: Bytes, level: int | None) -> bytes:
    return zstandard.ZstdCompressor(ZSTD_LEVEL if level is None else level).compress(data)


def _unzstd(data: Bytes, limit: int) -> bytes:
    unpacker = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW)
    parts: list[bytes] = []
    left, rest = limit, memoryview(data)
    while True:
        frame = unpacker.decompressobj()
        given = 0
        for piece in pieces_of_frame(rest):
            given += len(piece)
            try:
                part = frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise Corrupt(f"zstd: {error}") from error
            left -= len(part)
            if left < 0:
                raise _too_large(limit)
            parts.append(part)
            if frame.eof:
                break
        else:
            raise Corrupt("zstd: cut short")
        rest = rest[given - len(frame.unused_data) :]
        if not rest:
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"a batch of more than {limit} bytes when unpacked")


_COMPRESS: Final[dict[Codec, Callable[[Bytes, int | None], bytes]]] = {
    Codec.NONE: _store,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snap,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
_DECOMPRESS: Final[dict[Codec, Callable[[Bytes, int], bytes]]] = {
    Codec.NONE: _fetch,
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnap,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
