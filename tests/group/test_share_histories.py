"""Any history of a share group: nothing goes back, nothing is left, and left alone all is read."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.group.share_histories import ShareHistory


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_any_history_of_a_share_group_is_safe_and_ends_well(seed: int) -> None:
    history = ShareHistory(seed)
    history.run(150)
    history.settle()
    history.check_settled()
