"""Transactional ids that nobody used for long are forgotten, a bounded number at a time."""

from kafkapy.core.step import Step
from kafkapy.txn.events import ExpiredForgotten, TransactionForgotten
from kafkapy.txn.expiry import MAX_PER_STEP, decide_forget
from tests.txn.samples import NOW, S, transaction

WEEK_MS = 7 * 86_400_000
OLD = NOW - WEEK_MS


def test_ids_at_rest_are_forgotten_and_open_ones_never() -> None:
    transactions = [
        transaction(state, transactional_id=state.label, updated_ms=OLD)
        for state in (S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, S.COMPLETE_COMMIT)
    ]
    transactions.append(transaction(transactional_id="used", updated_ms=OLD + 1))
    assert decide_forget(transactions, NOW, WEEK_MS) == Step(
        records=(TransactionForgotten("Empty"), TransactionForgotten("CompleteCommit")),
        reply=ExpiredForgotten(2, has_more=False),
    )


def test_a_step_forgets_only_so_many() -> None:
    many = [transaction(transactional_id=str(n), updated_ms=OLD) for n in range(MAX_PER_STEP + 1)]
    step = decide_forget(many, NOW, WEEK_MS)
    assert len(step.records) == MAX_PER_STEP
    assert step.reply == ExpiredForgotten(MAX_PER_STEP, has_more=True)
