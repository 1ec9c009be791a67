"""The offset map: latest offsets, bounded memory, no key taken for another."""

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.log.cleaning.offset_map import BYTES_PER_KEY, OffsetMap


@given(st.lists(st.tuples(st.binary(max_size=40), st.integers(0, 2**60)), max_size=40))
@settings(max_examples=50)
def test_it_answers_as_a_dict_would(puts: list[tuple[bytes, int]]) -> None:
    offsets, twin = OffsetMap(1 << 20), dict[bytes, int]()
    for key, offset in puts:
        offsets.put(key, offset)
        twin[key] = offset
    assert len(offsets) == len(twin)
    for key, _ in puts:
        assert offsets.get(key) == twin[key]
    assert offsets.get(b"never") == -1


def test_a_digest_is_not_a_key() -> None:
    """A key that equals another key's digest stands for itself through its own digest."""
    offsets = OffsetMap(1 << 20)
    offsets.put(b"a key of more than sixteen bytes", 1)
    for digest in list(offsets._offsets):
        assert offsets.get(digest) == -1


def test_it_is_full_at_its_share_of_the_buffer() -> None:
    offsets = OffsetMap(100 * BYTES_PER_KEY, 0.9)
    for number in range(90):
        assert not offsets.is_full
        offsets.put(b"%d" % number, number)
    assert offsets.is_full
    assert offsets.fullness == 1.0


def test_the_smallest_buffer_holds_one_key() -> None:
    offsets = OffsetMap(0)
    assert not offsets.is_full


def test_mapping_only_goes_forward() -> None:
    offsets = OffsetMap(1 << 20)
    assert offsets.latest_offset == -1
    offsets.mapped_up_to(7)
    offsets.mapped_up_to(5)
    assert offsets.latest_offset == 7


def test_a_key_takes_no_more_than_is_counted_for_it() -> None:
    count = 20_000
    tracemalloc.start()
    try:
        offsets = OffsetMap(count * BYTES_PER_KEY * 2)
        for number in range(count):
            offsets.put(b"a key of more than sixteen bytes %d" % number, number + 10**6)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used <= count * BYTES_PER_KEY
