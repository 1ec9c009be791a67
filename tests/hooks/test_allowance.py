"""What calls may cost."""

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.hooks.allowance import AGAIN_AND_AGAIN, Allowance

MS = 1_000_000


def test_calls_within_their_budget_may_go_on_for_ever() -> None:
    allowance = Allowance(budget_us=1000, overdraft_ms=10)
    assert all(allowance.spend(MS) for _ in range(10_000))


def test_one_long_call_is_paid_back_by_quick_ones() -> None:
    """Five calls of 10 ms over an hour of quick ones are not again and again."""
    allowance = Allowance(budget_us=1000, overdraft_ms=20)
    for _ in range(5):
        assert allowance.spend(10 * MS)
        assert all(allowance.spend(0) for _ in range(9))


def test_one_call_however_long_is_an_accident() -> None:
    allowance = Allowance(budget_us=1000, overdraft_ms=20)
    assert allowance.spend(5000 * MS)
    assert allowance.spend(2 * MS)
    assert not allowance.spend(2 * MS)


@given(st.lists(st.integers(0, 50 * MS), max_size=200))
def test_what_they_took_together_is_bounded(took: list[int]) -> None:
    """As long as it says yes: each its budget, and together the overdraft, or what so few calls
    took that they may be accidents: nobody could interrupt them."""
    allowance = Allowance(budget_us=1000, overdraft_ms=20)
    spent = calls = 0
    for one in took:
        if not allowance.spend(one):
            break
        spent += one
        calls += 1
    assert spent <= calls * MS + max(20 * MS, (AGAIN_AND_AGAIN - 1) * 50 * MS)
