"""Adding partitions to a transaction, and asking whether they are in it.

Clients of protocol v1 add partitions themselves (AddPartitionsToTxn, AddOffsetsToTxn) and
brokers verify before they append; in v2 the broker that is about to append adds them. Both
close the same hole: data appended for a transaction that its coordinator does not know
would never get a marker and hold back every read_committed reader for ever.
formats/transactions 1, formats/producers 5.
"""

from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.events import (
    AddPartitions,
    Fact,
    PartitionsAdded,
    PartitionsVerified,
    Reply,
    TransactionLogged,
    VerifyPartitions,
)
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import Transaction, with_partitions

_NONE: Final = PartitionsAdded(ErrorCode.NONE)


def decide_add(
    event: AddPartitions, transaction: Transaction | None, wall: Instant
) -> Step[Fact, Reply]:
    if not event.transactional_id:
        return Step(reply=PartitionsAdded(ErrorCode.INVALID_REQUEST))
    if transaction is None:
        return Step(reply=PartitionsAdded(ErrorCode.INVALID_PRODUCER_ID_MAPPING))
    if transaction.state.is_prepared:
        # Before the epoch is looked at: in v2 the next transaction already has a new one.
        return Step(reply=PartitionsAdded(ErrorCode.CONCURRENT_TRANSACTIONS))
    stranger = _stranger(event, transaction)
    if stranger is not None:
        return Step(reply=PartitionsAdded(stranger))
    is_ongoing = transaction.state is TransactionState.ONGOING
    if is_ongoing and event.partitions <= transaction.partitions:
        return Step(reply=_NONE)
    changed = with_partitions(transaction, event.partitions, event.client_version, wall)
    return Step(records=(TransactionLogged(changed),), reply=_NONE)


def decide_verify(event: VerifyPartitions, transaction: Transaction | None) -> Step[Fact, Reply]:
    """Reads only; the broker's own guard has the last word when it appends."""
    error: ErrorCode | None
    if not event.transactional_id:
        error = ErrorCode.INVALID_REQUEST
    elif transaction is None:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    else:
        error = _stranger(event, transaction)
        if error is None and transaction.state.is_prepared:
            error = ErrorCode.CONCURRENT_TRANSACTIONS
        if error is None:
            return Step(reply=PartitionsVerified(_membership(event, transaction)))
    return Step(reply=PartitionsVerified(dict.fromkeys(event.partitions, error)))


def _stranger(
    event: AddPartitions | VerifyPartitions, transaction: Transaction
) -> ErrorCode | None:
    if event.producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if event.producer_epoch != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return None


def _membership(
    event: VerifyPartitions, transaction: Transaction
) -> dict[TopicPartition, ErrorCode]:
    return {
        partition: ErrorCode.NONE
        if partition in transaction.partitions
        else ErrorCode.TRANSACTION_ABORTABLE
        for partition in event.partitions
    }
