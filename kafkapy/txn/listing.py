"""DescribeTransactions and ListTransactions: reading, for people who look for trouble."""

from collections.abc import Iterable

from kafkapy.core.errors import ErrorCode
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.events import (
    DescribeTransaction,
    Fact,
    ListTransactions,
    Reply,
    TransactionDescribed,
    TransactionListed,
    TransactionsListed,
)
from kafkapy.txn.transaction import Transaction


def decide_describe(
    event: DescribeTransaction, transaction: Transaction | None
) -> Step[Fact, Reply]:
    if not event.transactional_id:
        return Step(reply=TransactionDescribed(ErrorCode.INVALID_REQUEST, ""))
    if transaction is None:
        unknown = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return Step(reply=TransactionDescribed(unknown, event.transactional_id))
    return Step(
        reply=TransactionDescribed(
            ErrorCode.NONE,
            transaction.transactional_id,
            transaction.state.label,
            transaction.timeout_ms,
            transaction.started_ms,
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.partitions,
        )
    )


def decide_list(
    event: ListTransactions, transactions: Iterable[Transaction], wall: Instant
) -> Step[Fact, Reply]:
    listed = (
        TransactionListed(t.transactional_id, t.producer_id, t.state.label)
        for t in transactions
        if _is_wanted(event, t, wall)
    )
    return Step(reply=TransactionsListed(tuple(listed)))


def _is_wanted(event: ListTransactions, transaction: Transaction, wall: Instant) -> bool:
    if event.states is not None and transaction.state not in event.states:
        return False
    if event.producer_ids and transaction.producer_id not in event.producer_ids:
        return False
    # As Kafka: one that never started counts as having run since 1970.
    return event.longer_than_ms < 0 or wall - transaction.started_ms > event.longer_than_ms
