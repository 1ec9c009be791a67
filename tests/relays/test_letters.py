"""What dead letters say of themselves, and which of them are over."""

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.protocol.batches.records import Record
from kafkapy.relays.letters import OVER, UNKNOWN, Over, are_over, letter_of
from tests.relays.records import record


def word(offset: int, value: bytes) -> Record:
    return Record(offset, 0, None, None, ((OVER, value),))


@given(st.lists(st.sets(st.integers(0, 60)), max_size=6))
def test_words_add_up(said: list[set[int]]) -> None:
    over = Over()
    for at, offsets in enumerate(said):
        word_of_it = are_over(offsets, 5)
        over.hear(Record(100 + 2 * at, 5, None, None, word_of_it.headers))
    expected = set().union(*said) | {100 + 2 * at for at in range(len(said))}
    assert {offset for offset in range(200) if offset in over} == expected


@given(st.sets(st.integers(0, 200)), st.integers(201, 300))
def test_what_is_said_to_be_over_is_and_the_word_is(offsets: set[int], at: int) -> None:
    said = are_over(offsets, 5)
    over = Over()
    over.hear(Record(at, said.timestamp, said.key, said.value, said.headers))
    assert {offset for offset in range(400) if offset in over} == {*offsets, at}


def test_a_word_speaks_of_what_is_before_it_and_nothing_else() -> None:
    """Whoever may write to the topic may write anything into it."""
    over = Over()
    over.hear(word(3, b"0-999999999999999999,x,7-,-2," + b"9" * 10_000))
    assert [offset in over for offset in range(5)] == [True, True, True, True, False]
    over.hear(word(1 << 60, b"5-999999999999999999"))
    assert (4 in over, 5 in over, 10**18 in over) == (False, True, False)


def test_an_origin_that_is_half_said_is_told_as_far_as_it_is() -> None:
    one = letter_of(2, record(9, b"k", kafkapy_origin_topic=b"orders", kafkapy_origin_offset=b"x"))
    assert (one.origin, one.reason) == (("orders", -1, -1), UNKNOWN)
    far = letter_of(2, record(9, kafkapy_origin_topic=b"o", kafkapy_origin_offset=b"9" * 5_000))
    assert far.origin == ("o", -1, -1)
    assert one.index_in("orders", [0, 1, 2]) == one.index_in("elsewhere", [0, 1, 2]), "by its key"
