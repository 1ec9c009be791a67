"""What a prepared transaction still owes, and when it is complete (formats/transactions 3).

    PrepareCommit {a-0, b-1}  --MarkersWritten {a-0}-->  {b-1}  --{b-1}-->  CompleteCommit

Which partitions have theirs is soft state: a coordinator that reloads sends every marker
again. A partition that gets one twice appends it twice, which hurts nobody: no transaction
is open there any more.
"""

from typing import NamedTuple

from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.txn.events import (
    Fact,
    MarkersNoted,
    MarkersWritten,
    PartitionsMarked,
    Reply,
    TransactionLogged,
)
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import Transaction, completed


class MarkersDue(NamedTuple):
    """One marker, and the partitions that do not have it yet."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    committed: bool
    partitions: frozenset[TopicPartition]
    transaction_version: int


def due(transaction: Transaction) -> MarkersDue:
    """What a prepared transaction owes; true of it once its record is committed."""
    assert transaction.state.is_prepared, transaction
    return MarkersDue(
        transaction.transactional_id,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.started_ms,
        transaction.state is TransactionState.PREPARE_COMMIT,
        transaction.partitions,
        transaction.client_version,
    )


def decide_written(
    event: MarkersWritten, transaction: Transaction | None, wall: Instant
) -> Step[Fact, Reply]:
    if (
        transaction is None
        or not transaction.state.is_prepared
        or event.producer_id != transaction.producer_id
        or event.producer_epoch != transaction.producer_epoch
        or event.started_ms != transaction.started_ms
    ):
        # Of a transaction that was completed meanwhile: this answer was sent twice or late.
        return Step(reply=MarkersNoted(is_complete=True))
    if event.partitions >= transaction.partitions:
        return Step(
            records=(TransactionLogged(completed(transaction, wall)),),
            reply=MarkersNoted(is_complete=True),
        )
    marked = PartitionsMarked(event.transactional_id, event.partitions)
    return Step(notes=(marked,), reply=MarkersNoted(is_complete=False))
