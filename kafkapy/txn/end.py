"""Ending a transaction: EndTxn by its client, or a fence (formats/transactions 2).

Protocol v0 and v1 (EndTxn 0-4). The epoch stays, so a retry looks like the first request:

    state             commit                      abort
    Ongoing           PrepareCommit               PrepareAbort
    Prepare*          CONCURRENT_TRANSACTIONS     CONCURRENT_TRANSACTIONS
    CompleteCommit    done already                INVALID_TXN_STATE
    CompleteAbort     INVALID_TXN_STATE           done already
    Empty             INVALID_TXN_STATE           INVALID_TXN_STATE

Protocol v2 (EndTxn 5, KIP-890). Every end bumps the epoch, so an epoch one lower than ours
is a retry, and an equal one is about the next transaction:

    state             commit: retry | equal       abort: retry | equal
    Ongoing           fenced  | PrepareCommit     fenced  | PrepareAbort
    Empty             fenced  | INVALID_TXN_STATE fenced  | PrepareAbort (of nothing)
    Prepare*          CONCURRENT_TRANSACTIONS     CONCURRENT_TRANSACTIONS
    CompleteCommit    done    | INVALID_TXN_STATE INVALID | PrepareAbort (of nothing)
    CompleteAbort     INVALID | INVALID_TXN_STATE done    | PrepareAbort (of nothing)

The answer leaves when Prepare* is durable: from there on the outcome is decided, and the
markers follow however often the coordinator moves.
"""

from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import NO_PRODUCER_ID
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.events import (
    AbortTimedOut,
    EndDecided,
    EndTransaction,
    Fact,
    ProducerIdWanted,
    Reply,
    TransactionLogged,
)
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import (
    LAST_USABLE_EPOCH,
    TV_2,
    Transaction,
    prepared_v1,
    prepared_v2,
)

_S = TransactionState
_OUTCOME_OF: Final = {_S.COMPLETE_COMMIT: True, _S.COMPLETE_ABORT: False}


def decide(
    event: EndTransaction, transaction: Transaction | None, wall: Instant
) -> Step[Fact, Reply]:
    if not event.transactional_id:
        return _refused(ErrorCode.INVALID_REQUEST)
    if transaction is None:
        return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if event.client_version >= TV_2:
        return _decide_v2(event, transaction, wall)
    return _decide_v1(event, transaction, wall)


def decide_timed_out(
    event: AbortTimedOut, transaction: Transaction | None, wall: Instant, server_version: int
) -> Step[Fact, Reply]:
    """Fence the producer that took too long. It will hear of it when it comes back."""
    if transaction is None or not is_timed_out(transaction, wall):
        return _refused(ErrorCode.INVALID_TXN_STATE)
    prepared = fence(transaction, event.fresh_producer_id, server_version, wall)
    if prepared is None:
        return Step(reply=ProducerIdWanted())
    return Step(records=(TransactionLogged(prepared),), reply=EndDecided(ErrorCode.NONE))


def is_timed_out(transaction: Transaction, wall: Instant) -> bool:
    return (
        transaction.state is _S.ONGOING
        and not transaction.is_two_phase
        and transaction.started_ms + transaction.timeout_ms < wall
    )


def fence(
    transaction: Transaction, fresh_producer_id: int, server_version: int, wall: Instant
) -> Transaction | None:
    """Abort what is ongoing with an epoch its producer does not have.

    None if that takes a new producer id and `fresh_producer_id` is none.
    """
    if server_version < TV_2:
        return prepared_v1(transaction, _S.PREPARE_ABORT, wall, is_fence=True)
    return _bumped(transaction, _S.PREPARE_ABORT, fresh_producer_id, server_version, wall)


def _decide_v1(event: EndTransaction, transaction: Transaction, wall: Instant) -> Step[Fact, Reply]:
    if event.producer_id != transaction.producer_id:
        return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if event.producer_epoch != transaction.producer_epoch:
        return _refused(ErrorCode.PRODUCER_FENCED)
    if transaction.state.is_prepared:
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if transaction.state is _S.ONGOING:
        prepared = prepared_v1(transaction, _prepare(event), wall)
        return Step(records=(TransactionLogged(prepared),), reply=EndDecided(ErrorCode.NONE))
    if _OUTCOME_OF.get(transaction.state) is event.committed:
        return Step(reply=EndDecided(ErrorCode.NONE))
    return _refused(ErrorCode.INVALID_TXN_STATE)


def _decide_v2(event: EndTransaction, transaction: Transaction, wall: Instant) -> Step[Fact, Reply]:
    if transaction.state.is_prepared:
        # Kafka holds this state "pending" until the markers are written, and looks at that
        # before producer and epoch: nobody is told anything else in the meantime.
        return _refused(ErrorCode.CONCURRENT_TRANSACTIONS)
    # Only an end of v2 left an epoch behind that its client may not know of: one below an
    # epoch of v1 belongs to a producer that was fenced.
    is_overflow_retry = (
        transaction.bumps_epochs
        and event.producer_id == transaction.previous_producer_id
        and event.producer_epoch == LAST_USABLE_EPOCH
        and transaction.producer_epoch == 0
    )
    if event.producer_id != transaction.producer_id and not is_overflow_retry:
        return _refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_retry = is_overflow_retry or (
        transaction.bumps_epochs and event.producer_epoch + 1 == transaction.producer_epoch
    )
    is_equal = event.producer_epoch == transaction.producer_epoch
    outcome = _OUTCOME_OF.get(transaction.state)
    if not is_equal and not (is_retry and outcome is not None):
        return _refused(ErrorCode.PRODUCER_FENCED)
    if is_retry and outcome is not None:
        if outcome is event.committed:
            return Step(reply=_next_of(transaction))
        return _refused(ErrorCode.INVALID_TXN_STATE)
    if transaction.state is not _S.ONGOING and event.committed:
        return _refused(ErrorCode.INVALID_TXN_STATE)
    prepared = _bumped(
        transaction, _prepare(event), event.fresh_producer_id, event.client_version, wall
    )
    if prepared is None:
        return Step(reply=ProducerIdWanted())
    return Step(records=(TransactionLogged(prepared),), reply=_next_of(prepared))


def _prepare(event: EndTransaction) -> TransactionState:
    return _S.PREPARE_COMMIT if event.committed else _S.PREPARE_ABORT


def _bumped(
    transaction: Transaction,
    state: TransactionState,
    fresh_producer_id: int,
    client_version: int,
    wall: Instant,
) -> Transaction | None:
    if not transaction.is_epoch_exhausted:
        return prepared_v2(transaction, state, NO_PRODUCER_ID, client_version, wall)
    if fresh_producer_id == NO_PRODUCER_ID:
        return None
    return prepared_v2(transaction, state, fresh_producer_id, client_version, wall)


def _next_of(transaction: Transaction) -> EndDecided:
    """What the client's next transaction runs under: it may start before this completes."""
    if transaction.next_producer_id != NO_PRODUCER_ID:
        return EndDecided(ErrorCode.NONE, transaction.next_producer_id, 0)
    return EndDecided(ErrorCode.NONE, transaction.producer_id, transaction.producer_epoch)


def _refused(error: ErrorCode) -> Step[Fact, Reply]:
    return Step(reply=EndDecided(error))
