"""States: their numbers are on disk, their names on the wire."""

import pytest

from kafkapy.txn.states import ALLOWED_BEFORE, STATES_BY_LABEL, TransactionState
from tests.txn.samples import S, transaction


def test_numbers_and_names_are_kafkas() -> None:
    assert [(state.value, state.label) for state in TransactionState] == [
        (0, "Empty"),
        (1, "Ongoing"),
        (2, "PrepareCommit"),
        (3, "PrepareAbort"),
        (4, "CompleteCommit"),
        (5, "CompleteAbort"),
        (6, "Dead"),
        (7, "PrepareEpochFence"),
    ]
    assert STATES_BY_LABEL["PrepareEpochFence"] is TransactionState.PREPARE_EPOCH_FENCE


@pytest.mark.parametrize(
    ("after", "before"),
    [
        (S.EMPTY, {S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT}),
        (S.ONGOING, {S.ONGOING, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT}),
        (S.PREPARE_COMMIT, {S.ONGOING}),
        (S.PREPARE_ABORT, {S.ONGOING, S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT}),
        (S.COMPLETE_COMMIT, {S.PREPARE_COMMIT}),
        (S.COMPLETE_ABORT, {S.PREPARE_ABORT}),
    ],
)
def test_a_step_that_the_table_does_not_know_is_a_bug(
    after: TransactionState, before: set[TransactionState]
) -> None:
    assert ALLOWED_BEFORE[after] == before
    for state in list(TransactionState)[:6]:
        if state in before:
            assert transaction(state).moved_to(after).state is after
        else:
            with pytest.raises(AssertionError):
                transaction(state).moved_to(after)
