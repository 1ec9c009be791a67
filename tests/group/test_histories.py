"""Any history: no partition owned twice, replay is state, and left alone it converges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.group.histories import History

KINDS = {
    "consumers": ("consumer",),
    "classic members": ("classic",),
    "both protocols": ("consumer", "classic"),
}


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS.keys())
@given(st.integers(0, 2**32))
@settings(max_examples=12)
def test_any_history_is_safe_and_ends_well(kinds: tuple[str, ...], seed: int) -> None:
    history = History(seed, kinds=kinds)
    history.run(120)
    history.settle()
    history.check_settled()
