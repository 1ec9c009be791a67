"""InitProducerId with a transactional id (formats/transactions 1; KIP-98, KIP-360, KIP-890).

    state                 who asks                            answer
    prepared              anyone                              CONCURRENT_TRANSACTIONS
    (any)                 another producer id                 PRODUCER_FENCED
    Ongoing               anyone                              fence and abort, then
                                                              CONCURRENT_TRANSACTIONS
    at rest               a new producer (expects nothing)    epoch + 1
    at rest               the producer, after an error        epoch + 1, remembers its old one
    at rest               the same, again (answer was lost)   the epoch it was given
    at rest               a producer of an older epoch        PRODUCER_FENCED

An exhausted epoch is replaced by a new producer id with epoch 0.
"""

from typing import Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.end import fence
from kafkapy.txn.events import (
    Fact,
    InitProducerId,
    ProducerIdAndEpoch,
    ProducerIdWanted,
    ProducerInitialised,
    Reply,
    TransactionLogged,
)
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import LAST_USABLE_EPOCH, Transaction, initialised

_CONCURRENT: Final = ProducerInitialised(ErrorCode.CONCURRENT_TRANSACTIONS)
_FENCED: Final = ProducerInitialised(ErrorCode.PRODUCER_FENCED)
_WANTED: Final = ProducerIdWanted()


def decide(
    event: InitProducerId,
    transaction: Transaction | None,
    wall: Instant,
    *,
    max_timeout_ms: int,
    server_version: int,
) -> Step[Fact, Reply]:
    if not event.transactional_id:
        return Step(reply=ProducerInitialised(ErrorCode.INVALID_REQUEST))
    if not 0 < event.timeout_ms <= max_timeout_ms:
        return Step(reply=ProducerInitialised(ErrorCode.INVALID_TRANSACTION_TIMEOUT))
    if transaction is None:
        return _first(event, wall)
    if transaction.state.is_prepared:
        return Step(reply=_CONCURRENT)
    if event.expected is not None and not _may_continue(transaction, event.expected):
        return Step(reply=_FENCED)
    if transaction.state is TransactionState.ONGOING:
        return _fence_then_retry(event, transaction, wall, server_version)
    if transaction.is_epoch_exhausted and (
        event.expected is None or event.expected.epoch == transaction.producer_epoch
    ):
        return _rotate(event, transaction, wall)
    return _bump(event, transaction, wall)


def _first(event: InitProducerId, wall: Instant) -> Step[Fact, Reply]:
    if event.fresh_producer_id == NO_PRODUCER_ID:
        return Step(reply=_WANTED)
    created = Transaction(
        event.transactional_id, event.fresh_producer_id, NO_PRODUCER_EPOCH, event.timeout_ms
    )
    # Expectations do not matter here: a producer whose id was forgotten starts afresh.
    return _bump(event, created, wall)


def _may_continue(transaction: Transaction, expected: ProducerIdAndEpoch) -> bool:
    """The producer of this id, or the one whose id ran out of epochs and who never heard."""
    return expected.producer_id == transaction.producer_id or (
        expected.producer_id == transaction.previous_producer_id
        and expected.epoch >= LAST_USABLE_EPOCH
    )


def _fence_then_retry(
    event: InitProducerId, transaction: Transaction, wall: Instant, server_version: int
) -> Step[Fact, Reply]:
    # The epoch this takes is given to nobody: when the client asks again the transaction is
    # over and it gets the next one, so no request of the fenced producer can look like its.
    prepared = fence(transaction, event.fresh_producer_id, server_version, wall)
    if prepared is None:
        return Step(reply=_WANTED)
    return Step(records=(TransactionLogged(prepared),), reply=_CONCURRENT)


def _rotate(event: InitProducerId, transaction: Transaction, wall: Instant) -> Step[Fact, Reply]:
    if event.fresh_producer_id == NO_PRODUCER_ID:
        return Step(reply=_WANTED)
    last_epoch = NO_PRODUCER_EPOCH if event.expected is None else transaction.producer_epoch
    return _given(transaction, event, event.fresh_producer_id, 0, last_epoch, wall)


def _bump(event: InitProducerId, transaction: Transaction, wall: Instant) -> Step[Fact, Reply]:
    epoch = transaction.producer_epoch
    producer_id = transaction.producer_id
    if event.expected is None:
        return _given(transaction, event, producer_id, epoch + 1, NO_PRODUCER_EPOCH, wall)
    if epoch == NO_PRODUCER_EPOCH or event.expected.epoch == epoch:
        return _given(transaction, event, producer_id, epoch + 1, epoch, wall)
    if event.expected.epoch == transaction.last_producer_epoch:
        # Its first request did this and the answer was lost. A newer producer would have
        # reset last_producer_epoch, so nobody is let in who was fenced.
        last_epoch = transaction.last_producer_epoch
        return _given(transaction, event, producer_id, epoch, last_epoch, wall)
    return Step(reply=_FENCED)


def _given(
    transaction: Transaction,
    event: InitProducerId,
    producer_id: int,
    epoch: int,
    last_epoch: int,
    wall: Instant,
) -> Step[Fact, Reply]:
    changed = initialised(transaction, producer_id, epoch, last_epoch, event.timeout_ms, wall)
    answer = ProducerInitialised(ErrorCode.NONE, producer_id, epoch)
    return Step(records=(TransactionLogged(changed),), reply=answer)
