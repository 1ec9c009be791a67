"""Which claim of a key counts, by the order in which they were written."""

from dataclasses import replace

from kafkapy.http.rest.once.claims import Claim, Producer, Written, decode, encode, slot_of
from kafkapy.http.rest.once.topic import _Index
from kafkapy.protocol.batches.records import Record

RETENTION_MS = 1000
OPEN = Claim("f", 5, (1, 0, 1), Producer(7, 0), {0: 3, 1: 0})
DONE = replace(OPEN, written={0: Written(9, -1), 1: Written(4, 17)})
CHOSEN = replace(OPEN, schema_ids={"key": (4,), "value": (7, 3)})


def index_of(*records: tuple[bytes, Claim, int], most: int = 10) -> _Index:
    index = _Index()
    for offset, (slot, claim, timestamp) in enumerate(records):
        index.take(Record(offset, timestamp, slot, encode(claim)), RETENTION_MS, most)
    return index


def test_a_claim_is_read_as_it_was_written() -> None:
    assert decode(encode(OPEN)) == OPEN
    assert decode(encode(DONE)) == DONE
    assert decode(encode(CHOSEN)) == CHOSEN


def test_what_is_no_claim_is_passed_over() -> None:
    for value in (None, b"", b"[]", b"{}", b'{"format": 2}', b'{"format": 1, "places": 3}'):
        assert decode(value) is None


def test_the_first_claim_counts_until_one_is_done_and_then_that() -> None:
    told = [(b"a", OPEN, 0), (b"a", OPEN, 1), (b"a", DONE, 2), (b"a", DONE, 3), (b"a", OPEN, 4)]
    offsets = [index_of(*told[:count]).known[b"a"].offset for count in range(1, 6)]
    assert offsets == [0, 0, 2, 2, 2]


def test_a_claim_that_is_over_makes_room_for_another() -> None:
    assert index_of((b"a", DONE, 0), (b"a", OPEN, RETENTION_MS)).known[b"a"].offset == 0
    assert index_of((b"a", DONE, 0), (b"a", OPEN, RETENTION_MS + 1)).known[b"a"].offset == 1


def test_only_the_newest_are_known() -> None:
    index = index_of(*((bytes([n]), OPEN, n) for n in range(20)), most=3)
    assert list(index.known) == [bytes([n]) for n in (17, 18, 19)]


def test_everybodys_keys_are_their_own() -> None:
    assert slot_of("User:a", "k") != slot_of("User:b", "k") != slot_of("User:b", "K")
