"""A payload compressed as it comes, and no more of it kept than may be: the result may not be
larger than somebody's limit, and what it is made of may be much larger.

The streams are those of `compression.compress`, with the same settings; zstd's does not say how
much will come out, and its blocks and lz4's may end elsewhere.
"""

import zlib
from typing import Protocol

import lz4.frame
import zstandard

from kafkapy.protocol.compression.codecs import (
    GZIP_WINDOW,
    SNAPPY_CHUNK,
    XERIAL_HEADER,
    ZSTD_LEVEL,
    Codec,
    as_java_packs,
    lz4_level,
    snappy_chunk,
)


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class Packing:
    """`add` what is to be packed, in pieces; `size` is what came out so far. Past `most_bytes`
    nothing more is packed, and there is no result."""

    def __init__(self, codec: Codec, level: int | None, most_bytes: int) -> None:
        self.size = 0
        self._codec = codec
        self._most_bytes = most_bytes
        self._packer = _packer(codec, level)
        self._parts: list[bytes] = []

    @property
    def is_too_large(self) -> bool:
        return self.size > self._most_bytes

    def add(self, data: bytes) -> None:
        if not self.is_too_large:
            self._keep(self._packer.compress(data))

    def finish(self) -> bytes | None:
        if not self.is_too_large:
            self._keep(self._packer.flush())
        if self.is_too_large:
            return None
        packed = b"".join(self._parts)
        return as_java_packs(packed) if self._codec is Codec.GZIP else packed

    def _keep(self, part: bytes) -> None:
        self.size += len(part)
        self._parts.append(part)
        if self.is_too_large:
            self._parts.clear()


def _packer(codec: Codec, level: int | None) -> _Packer:
    match codec:
        case Codec.NONE:
            return _Stored()
        case Codec.GZIP:
            return zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, GZIP_WINDOW)
        case Codec.SNAPPY:
            return _Snappy()
        case Codec.LZ4:
            return _Lz4(level)
        case Codec.ZSTD:
            packer = zstandard.ZstdCompressor(ZSTD_LEVEL if level is None else level)
            return packer.compressobj()


class _Stored:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class _Snappy:
    def __init__(self) -> None:
        self._head = XERIAL_HEADER
        self._rest = b""

    def compress(self, data: bytes) -> bytes:
        data = self._rest + data
        whole = len(data) - len(data) % SNAPPY_CHUNK
        self._rest = data[whole:]
        return self._chunks(memoryview(data)[:whole])

    def flush(self) -> bytes:
        return self._chunks(memoryview(self._rest))

    def _chunks(self, data: memoryview) -> bytes:
        parts, self._head = [self._head], b""
        for start in range(0, len(data), SNAPPY_CHUNK):
            parts += snappy_chunk(data[start : start + SNAPPY_CHUNK])
        return b"".join(parts)


class _Lz4:
    def __init__(self, level: int | None) -> None:
        self._packer = lz4.frame.LZ4FrameCompressor(
            compression_level=lz4_level(level),
            block_size=lz4.frame.BLOCKSIZE_MAX64KB,
            block_linked=False,
        )
        self._head: bytes = self._packer.begin()

    def compress(self, data: bytes) -> bytes:
        head, self._head = self._head, b""
        packed: bytes = head + self._packer.compress(data)
        return packed

    def flush(self) -> bytes:
        packed: bytes = self._head + self._packer.flush()
        return packed
