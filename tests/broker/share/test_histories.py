"""Any history of a share partition: what was accepted stays so, whoever leads and coordinates."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.share.histories import History


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_any_history_of_a_share_partition_is_safe_and_ends_well(seed: int) -> None:
    history = History(seed)
    history.run(200)
    history.settle()
