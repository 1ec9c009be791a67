"""Finding transactions that took too long."""

from kafkapy.core.step import Step
from kafkapy.txn.events import TimedOutFound
from kafkapy.txn.timeouts import decide_find
from kafkapy.txn.transaction import NO_TIMEOUT_MS
from tests.txn.samples import NOW, S, transaction


def test_only_open_transactions_past_their_timeout_are_found() -> None:
    transactions = [
        transaction(S.ONGOING, transactional_id="late", started_ms=NOW - 60_001),
        transaction(S.ONGOING, transactional_id="in time", started_ms=NOW - 60_000),
        transaction(S.ONGOING, transactional_id="2pc", started_ms=0, timeout_ms=NO_TIMEOUT_MS),
        transaction(S.PREPARE_ABORT, transactional_id="prepared", started_ms=0),
        transaction(S.EMPTY, transactional_id="idle"),
    ]
    assert decide_find(transactions, NOW) == Step(reply=TimedOutFound(("late",)))
