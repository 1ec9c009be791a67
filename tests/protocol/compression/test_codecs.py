"""Codecs: round trips, the framings of other writers, bombs and broken bytes."""

import gzip
import tracemalloc
import zlib
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import lz4.frame
import pytest
import snappy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.compression.codecs import Codec, compress, compress_in_steps, decompress

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MIB = 1024 * 1024


@pytest.mark.parametrize("codec", list(Codec))
@given(data=st.binary(max_size=3000), times=st.integers(1, 60))
@settings(max_examples=15)
def test_what_was_compressed_comes_back(codec: Codec, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times)) == data * times


@pytest.mark.parametrize("codec", PACKED)
def test_views_are_as_good_as_bytes(codec: Codec) -> None:
    data = b"abc" * 1000
    packed = compress(codec, memoryview(data))
    assert decompress(codec, memoryview(packed).toreadonly()) == data


@pytest.mark.parametrize(
    ("codec", "levels"),
    [
        (Codec.GZIP, [None, -1, 1, 9]),
        (Codec.LZ4, [None, 1, 2, 9, 12, 17]),
        (Codec.ZSTD, [None, -131072, -1, 1, 3, 19]),
    ],
)
def test_every_level_that_kafka_allows_is_understood(codec: Codec, levels: list[int]) -> None:
    data = b"".join(b"%d," % number for number in range(3000))
    for level in levels:
        assert decompress(codec, compress(codec, data, level)) == data


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("size", [0, 1, 65536, 200_001])
def test_compressing_in_steps_gives_the_same_bytes(codec: Codec, size: int) -> None:
    data = bytes(number * number % 251 for number in range(size))

    def follow() -> Generator[int, None, None]:
        packed = yield from compress_in_steps(codec, data)
        assert packed == compress(codec, data)

    taken = list(follow())
    assert sum(taken) == size
    if codec is Codec.GZIP:
        assert max(taken, default=0) <= 65536


def test_lz4_frames_carry_kafkas_flags() -> None:
    """Version 1, independent blocks, no checksums, no size; blocks of 64 KiB."""
    assert compress(Codec.LZ4, b"x" * 100)[:7].hex() == "04224d18604082"


def test_snappy_is_written_in_xerial_chunks_of_32_kib() -> None:
    packed = compress(Codec.SNAPPY, bytes(70_000))
    assert packed.startswith(b"\x82SNAPPY\x00" + bytes.fromhex("0000000100000001"))
    sizes, position = [], 16
    while position < len(packed):
        size = int.from_bytes(packed[position : position + 4])
        sizes.append(len(snappy.uncompress(packed[position + 4 : position + 4 + size])))
        position += 4 + size
    assert sizes == [32768, 32768, 70_000 - 65536]


def test_a_raw_snappy_block_is_read_too() -> None:
    assert decompress(Codec.SNAPPY, snappy.compress(b"abc" * 500)) == b"abc" * 500


def test_joined_streams_are_read_as_one() -> None:
    a, b = b"a" * 1000, b"b" * 1000
    assert decompress(Codec.GZIP, gzip.compress(a) + gzip.compress(b)) == a + b
    for codec in (Codec.SNAPPY, Codec.ZSTD):
        assert decompress(codec, compress(codec, a) + compress(codec, b)) == a + b


class Counting:
    """A decompressor, and how many bytes it left over: each is copied."""

    left_over = 0

    def __init__(self, wbits: int) -> None:
        self._real = _decompressobj(wbits)

    def decompress(self, data: bytes, most: int) -> bytes:
        unpacked: bytes = self._real.decompress(data, most)
        Counting.left_over += len(self._real.unused_data)
        return unpacked

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


_decompressobj = zlib.decompressobj


def test_a_thousand_small_members_are_not_copied_a_thousand_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A producer could hold up a node for seconds with a megabyte of empty ones."""
    packed = compress(Codec.GZIP, b"a") + 3000 * compress(Codec.GZIP, b"")
    large = compress(Codec.GZIP, bytes(range(256)) * 100)
    monkeypatch.setattr(zlib, "decompressobj", Counting)
    Counting.left_over = 0
    assert decompress(Codec.GZIP, packed + large) == b"a" + bytes(range(256)) * 100
    assert Counting.left_over < 60 * len(packed), "1500 times as much if each copies the rest"


def test_an_lz4_frame_takes_no_more_memory_than_it_can_fill() -> None:
    packed = compress(Codec.LZ4, bytes(4 * MIB))
    tracemalloc.start()
    try:
        assert decompress(Codec.LZ4, packed) == bytes(4 * MIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * MIB


def test_a_zstd_frame_with_its_size_in_it_is_read() -> None:
    packed = zstandard.ZstdCompressor(write_content_size=True).compress(b"abc" * 500)
    assert decompress(Codec.ZSTD, packed) == b"abc" * 500


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_noticed_before_it_is_unpacked(codec: Codec) -> None:
    bomb = compress(codec, bytes(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(Corrupt, match="more than"):
            decompress(codec, bomb, limit=MIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB


def test_sizes_that_lie_are_not_believed() -> None:
    with pytest.raises(Corrupt, match="more than"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"abc", limit=MIB)
    with pytest.raises(Corrupt, match="claim"):
        decompress(Codec.SNAPPY, b"\xff\xff\x3f" + b"abc", limit=MIB)
    claims = lz4.frame.compress(b"abc", store_size=True)
    lying = claims[:6] + (2**40).to_bytes(8, "little") + claims[14:]
    with pytest.raises(Corrupt):
        decompress(Codec.LZ4, lying, limit=MIB)


@pytest.mark.parametrize("codec", PACKED)
def test_the_limit_itself_is_allowed(codec: Codec) -> None:
    data = b"0123456789" * 100
    assert decompress(codec, compress(codec, data), limit=1000) == data
    with pytest.raises(Corrupt):
        decompress(codec, compress(codec, data), limit=999)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_what_is_cut_short_is_corrupt(codec: Codec) -> None:
    packed = compress(codec, b"abc" * 5000)
    for length in (0, 1, 5, len(packed) // 2, len(packed) - 1):
        with pytest.raises(Corrupt):
            decompress(codec, packed[:length])


@pytest.mark.parametrize("codec", PACKED)
@given(data=st.binary(max_size=200), at=st.integers(0, 400), byte=st.integers(0, 255))
@settings(max_examples=60)
def test_only_corrupt_comes_out_of_hostile_bytes(
    codec: Codec, data: bytes, at: int, byte: int
) -> None:
    packed = bytearray(compress(codec, b"some text, some text" * 10))
    packed[at % len(packed)] = byte
    for hostile in (data, bytes(packed)):
        with suppress(Corrupt):
            decompress(codec, hostile, limit=MIB)
