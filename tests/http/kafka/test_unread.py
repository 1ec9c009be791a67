"""Records of an answer, a few at a time."""

from functools import partial
from typing import NamedTuple

import pytest

from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.unread import Unread
from kafkapy.protocol.batches.batch import HEADER_SIZE, build_batch
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.protocol.compression.codecs import Codec

_ABORT = NewRecord(b"\0\0\0\0", b"\0\0\0\0\0\0", 0)


class Aborted(NamedTuple):
    first_offset: int
    producer_id: int


def a_batch(first: int, values: range, *, codec: Codec = Codec.NONE) -> bytes:
    records = [NewRecord(None, str(one).encode(), 0) for one in values]
    return build_batch(records, base_offset=first, codec=codec)


def told(unread: Unread, most: int = 100) -> list[bytes | None]:
    return [one.value for one in unread.take(most)]


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_taken_in_pieces_is_what_is_there(codec: Codec) -> None:
    data = a_batch(5, range(5, 25), codec=codec) + a_batch(25, range(25, 30))
    unread = Unread(data, 8, (), "t-0")
    found: list[bytes | None] = []
    while not unread.is_done:
        some = told(unread, 3)
        found += some
        assert unread.next_offset == 8 + len(found)
    assert found == [str(one).encode() for one in range(8, 30)]
    assert unread.size == 0


def test_so_many_bytes_or_one_that_is_larger() -> None:
    records = [NewRecord(None, bytes(size), 0) for size in (1000, 10, 10, 10)]
    unread = Unread(build_batch(records), 0, (), "t-0")
    assert [len(unread.take(most_bytes=150)) for _ in range(3)] == [1, 3, 0]


def test_batches_that_lack_records_are_looked_through() -> None:
    """Compacted: 0 to 9, of which only every third is there."""
    whole = build_batch([NewRecord(None, str(one).encode(), 0) for one in range(4)])
    spread = whole[:23] + (9).to_bytes(4) + whole[27:]
    unread = Unread(spread, 3, (), "t-0")
    assert told(unread) == [b"3"]
    assert unread.next_offset == 10


def test_what_was_aborted_is_left_out() -> None:
    ours = partial(build_batch, producer_id=7, producer_epoch=0, is_transactional=True)
    data = (
        ours([NewRecord(None, b"aborted", 0)], base_offset=0, base_sequence=0)
        + a_batch(1, range(1, 2))
        + ours([_ABORT], base_offset=2, is_control=True)
        + ours([NewRecord(None, b"kept", 0)], base_offset=3, base_sequence=1)
        + ours([_ABORT], base_offset=4, is_control=True)
    )
    unread = Unread(data, 0, [Aborted(0, 7)], "t-0")
    assert told(unread, 1) == [b"1"]
    assert told(unread) == [b"kept"]
    assert unread.next_offset == 5


def test_what_was_let_go_is_fetched_from_where_it_was_taken_to() -> None:
    unread = Unread(a_batch(0, range(10)), 0, (), "t-0")
    unread.take(4)
    unread.let_go()
    assert (unread.is_done, unread.size, unread.next_offset, told(unread)) == (True, 0, 4, [])


def test_what_is_corrupt_is_named() -> None:
    data = bytearray(a_batch(0, range(10)))
    data[HEADER_SIZE] ^= 0x54  # how long the first record is
    with pytest.raises(KafkaError, match="t-0"):
        Unread(bytes(data), 0, (), "t-0").take()


def test_what_comes_before_what_is_corrupt_is_given_first() -> None:
    bad = bytearray(a_batch(3, range(3, 6)))
    bad[HEADER_SIZE] ^= 0x54
    unread = Unread(a_batch(0, range(3)) + bytes(bad), 0, (), "t-0")
    assert told(unread) == [b"0", b"1", b"2"]
    assert (unread.is_done, unread.size, unread.next_offset) == (True, 0, 3)
    with pytest.raises(KafkaError, match="t-0"):
        Unread(bytes(bad), 3, (), "t-0").take()
