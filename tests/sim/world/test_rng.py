"""Chance from a seed: the same every time, and independent of what others draw."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.sim.world.rng import SimRng


def _drawn(rng: SimRng) -> list[int]:
    return [rng.below(1000) for _ in range(20)]


def test_the_same_seed_draws_the_same() -> None:
    assert _drawn(SimRng(7)) == _drawn(SimRng(7))
    assert _drawn(SimRng(7)) != _drawn(SimRng(8))


def test_the_numbers_of_a_seed_never_change() -> None:
    """A seed in a bug report must mean the same next year, and with another Python."""
    assert [SimRng(1).below(10**6), SimRng(2).below(10**6)] == [696815, 358929]


def test_a_fork_does_not_mind_what_others_draw() -> None:
    one, other = SimRng(7), SimRng(7)
    other.below(10)
    assert _drawn(one.fork("disk")) == _drawn(other.fork("disk"))
    assert _drawn(one.fork("disk")) != _drawn(one.fork("clients"))


@given(st.integers(0, 2**32), st.integers(1, 2**40))
def test_a_number_below_a_limit_is_below_it(seed: int, limit: int) -> None:
    assert 0 <= SimRng(seed).below(limit) < limit


@given(st.integers(0, 2**32), st.integers(0, 5000), st.integers(0, 5000))
def test_a_magnitude_is_within_its_bounds(seed: int, one: int, other: int) -> None:
    low, high = min(one, other), max(one, other)
    assert low <= SimRng(seed).magnitude(low, high) <= high


def test_weights_are_how_often() -> None:
    rng = SimRng(1)
    drawn = Counter(rng.weighted(((9, "often"), (1, "seldom"), (0, "never"))) for _ in range(1000))
    assert drawn["often"] > 800
    assert 50 < drawn["seldom"] < 150
    assert drawn["never"] == 0


def test_uuids_look_like_uuids() -> None:
    first, second = SimRng(1).uuid(), SimRng(2).uuid()
    assert first != second
    assert first.version == 4


def test_bytes_have_the_length_that_was_asked_for() -> None:
    assert [len(SimRng(1).bytes(length)) for length in (0, 1, 17)] == [0, 1, 17]
