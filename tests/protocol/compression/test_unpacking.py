"""Unpacking in pieces: the same bytes and the same refusals as all at once, and never much held."""

import gzip
import tracemalloc

import pytest
import snappy
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import Corrupt
from kafkapy.protocol.compression.codecs import Codec, TooLarge, compress, decompress
from kafkapy.protocol.compression.packing import Packing
from kafkapy.protocol.compression.unpacking import PIECE_BYTES, unpack
from kafkapy.protocol.compression.zstd_pieces import pieces_of_frame

MIB = 1024 * 1024
PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@pytest.mark.parametrize("codec", list(Codec))
@given(data=st.binary(max_size=3000), times=st.integers(1, 200))
@settings(max_examples=15)
def test_the_pieces_are_what_was_compressed(codec: Codec, data: bytes, times: int) -> None:
    pieces = list(unpack(codec, compress(codec, data * times)))
    assert b"".join(pieces) == data * times
    assert all(len(piece) <= PIECE_BYTES for piece in pieces)


@pytest.mark.parametrize("codec", PACKED)
@given(noise=st.binary(max_size=300), cut=st.integers(0, 200), flip=st.integers(0, 200))
@settings(max_examples=40)
def test_what_is_broken_is_refused_as_it_is_all_at_once(
    codec: Codec, noise: bytes, cut: int, flip: int
) -> None:
    packed = bytearray(compress(codec, noise * 3))[: -cut or None]
    if packed:
        packed[flip % len(packed)] ^= 1
    for hostile in (bytes(packed), noise):
        try:
            expected = decompress(codec, hostile)
        except Corrupt:
            with pytest.raises(Corrupt):
                list(unpack(codec, hostile))
        else:
            assert b"".join(unpack(codec, hostile)) == expected


def test_streams_that_were_joined_are_one() -> None:
    one, two = b"a" * 100_000, b"b" * 100_000
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.ZSTD):
        packed = compress(codec, one) + compress(codec, two)
        assert b"".join(unpack(codec, packed)) == decompress(codec, packed) == one + two
    raw = snappy.compress(one)
    assert b"".join(unpack(Codec.SNAPPY, raw)) == one


def test_empty_members_are_pieces_too_so_that_others_have_their_turn() -> None:
    assert len(list(unpack(Codec.GZIP, gzip.compress(b"") * 1000))) >= 1000


@pytest.mark.parametrize("codec", list(Codec))
def test_more_than_the_limit_is_refused_once_it_comes_out(codec: Codec) -> None:
    packed = compress(codec, bytes(MIB))
    assert sum(map(len, unpack(codec, packed, MIB))) == MIB
    with pytest.raises(TooLarge):
        list(unpack(codec, packed, MIB - 1))


@pytest.mark.parametrize("codec", PACKED)
def test_a_bomb_is_never_held_whole(codec: Codec) -> None:
    packed = compress(codec, bytes(32 * MIB))
    tracemalloc.start()
    try:
        assert sum(map(len, unpack(codec, packed))) == 32 * MIB
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * MIB


@pytest.mark.parametrize("codec", list(Codec))
@given(parts=st.lists(st.binary(max_size=400).map(lambda part: part * 300), max_size=5))
@settings(max_examples=20)
def test_what_was_packed_in_parts_comes_back(codec: Codec, parts: list[bytes]) -> None:
    packing = Packing(codec, None, MIB)
    for part in parts:
        packing.add(part)
    packed = packing.finish()
    assert packed is not None
    assert decompress(codec, packed) == b"".join(parts)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_packed_in_parts_it_is_the_same_stream(codec: Codec) -> None:
    data = b"".join(index.to_bytes(4) for index in range(50_000))
    packing = Packing(codec, None, MIB)
    for start in range(0, len(data), 7_000):
        packing.add(data[start : start + 7_000])
    assert packing.finish() == compress(codec, data)


def test_past_the_most_there_may_be_nothing_is_kept() -> None:
    packing = Packing(Codec.NONE, None, 10)
    packing.add(bytes(10))
    assert not packing.is_too_large
    packing.add(b"1")
    assert packing.is_too_large
    packing.add(bytes(MIB))
    assert packing.size == 11
    assert packing.finish() is None


@pytest.mark.parametrize("with_size", [True, False])
@pytest.mark.parametrize("with_checksum", [True, False])
@pytest.mark.parametrize("size", [0, 10, 70_000, 300_000, 5 * MIB])
def test_no_piece_of_a_zstd_frame_holds_more_than_two_mebibytes(
    with_size: bool, with_checksum: bool, size: int
) -> None:
    packer = zstandard.ZstdCompressor(write_content_size=with_size, write_checksum=with_checksum)
    data = (b"".join(index.to_bytes(4) for index in range(20_000)) + bytes(2 * MIB)) * 3
    frame = packer.compress(data[:size])
    pieces = list(pieces_of_frame(memoryview(frame + b"behind")))
    assert b"".join(pieces) == frame + b"behind"
    unpacker = zstandard.ZstdDecompressor().decompressobj()
    unpacked = []
    for piece in pieces:
        unpacked.append(unpacker.decompress(piece))
        if unpacker.eof:
            break
    assert b"".join(unpacked) == data[:size]
    assert max(map(len, unpacked)) <= 2 * MIB
    if size > 10:  # cut as its blocks are, not all into small pieces
        assert len(pieces) <= 2 + len(frame) // 1000


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_what_is_no_zstd_frame_is_cut_too(head: bytes, tail: bytes) -> None:
    for nonsense in (head, zstandard.compress(head) + tail, b"\x28\xb5\x2f\xfd" + tail):
        assert b"".join(pieces_of_frame(memoryview(nonsense))) == nonsense
