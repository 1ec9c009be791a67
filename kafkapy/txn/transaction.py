"""One transactional id as its coordinator knows it, and the steps it can take.

A `Transaction` is a value: every step makes a new one, `moved_to` refuses a step that the
table of states does not know. The same value is what a `TransactionLogged` record holds, so
the state of the machine is literally the last record of each id.

`last_producer_epoch` is the exception: Kafka does not write it either, so a new leader
starts with -1 there and a client's retry across the change of leaders is fenced.
"""

from typing import Any, Final, NamedTuple

from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from kafkapy.txn.states import ALLOWED_BEFORE, TransactionState

MAX_EPOCH: Final = 2**15 - 1
# One epoch is kept back so that the last producer of an id can still be fenced.
LAST_USABLE_EPOCH: Final = MAX_EPOCH - 1
NO_TIMEOUT_MS: Final = 2**31 - 1
NOT_STARTED: Final = -1

# transaction.version levels: 2 bumps the epoch with every EndTxn (KIP-890).
TV_0: Final = 0
TV_2: Final = 2


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = NOT_STARTED
    updated_ms: int = -1
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    client_version: int = TV_0

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.producer_epoch >= LAST_USABLE_EPOCH

    @property
    def is_two_phase(self) -> bool:
        """Prepared from outside (KIP-939): only its owner may end it, never a timeout."""
        return self.timeout_ms == NO_TIMEOUT_MS

    @property
    def bumps_epochs(self) -> bool:
        return self.client_version >= TV_2

    def moved_to(self, state: TransactionState, **changes: Any) -> "Transaction":
        assert self.state in ALLOWED_BEFORE[state], (self, state)
        # Whatever the step, Kafka writes the producer id that held before it.
        return self._replace(state=state, previous_producer_id=self.producer_id, **changes)


def initialised(
    transaction: Transaction,
    producer_id: int,
    producer_epoch: int,
    last_producer_epoch: int,
    timeout_ms: int,
    wall: int,
) -> Transaction:
    """InitProducerId: an epoch (or id) nobody else holds, and nothing open."""
    return transaction.moved_to(
        TransactionState.EMPTY,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        last_producer_epoch=last_producer_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        started_ms=NOT_STARTED,
        updated_ms=wall,
    )


def with_partitions(
    transaction: Transaction,
    partitions: frozenset[TopicPartition],
    client_version: int,
    wall: int,
) -> Transaction:
    starts = transaction.state.is_at_rest
    return transaction.moved_to(
        TransactionState.ONGOING,
        partitions=transaction.partitions | partitions,
        started_ms=wall if starts else transaction.started_ms,
        updated_ms=wall,
        client_version=client_version,
    )


def prepared_v1(
    transaction: Transaction, state: TransactionState, wall: int, *, is_fence: bool = False
) -> Transaction:
    """Protocol v0 and v1: the epoch stays, unless whoever holds it is to be fenced."""
    epoch, last_epoch = transaction.producer_epoch, transaction.last_producer_epoch
    if is_fence:
        epoch, last_epoch = min(epoch + 1, MAX_EPOCH), NO_PRODUCER_EPOCH
    return transaction.moved_to(
        state,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        updated_ms=wall,
        next_producer_id=NO_PRODUCER_ID,
        client_version=TV_0,
    )


def prepared_v2(
    transaction: Transaction,
    state: TransactionState,
    next_producer_id: int,
    client_version: int,
    wall: int,
) -> Transaction:
    """Protocol v2: markers carry the bumped epoch, so nothing of the old one comes after.

    An exhausted epoch is bumped to the one kept back, and `next_producer_id` takes over
    when the transaction completes.
    """
    assert transaction.is_epoch_exhausted == (next_producer_id != NO_PRODUCER_ID), transaction
    started = transaction.state is TransactionState.ONGOING
    return transaction.moved_to(
        state,
        producer_epoch=min(transaction.producer_epoch + 1, MAX_EPOCH),
        last_producer_epoch=transaction.producer_epoch,
        next_producer_id=next_producer_id,
        started_ms=transaction.started_ms if started else wall,
        updated_ms=wall,
        client_version=client_version,
    )


def completed(transaction: Transaction, wall: int) -> Transaction:
    """Every partition has its marker; a producer id that was allocated takes over now."""
    changes: dict[str, Any] = {}
    if transaction.bumps_epochs and transaction.next_producer_id != NO_PRODUCER_ID:
        changes = {"producer_id": transaction.next_producer_id, "producer_epoch": 0}
    is_commit = transaction.state is TransactionState.PREPARE_COMMIT
    return transaction.moved_to(
        TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
        partitions=frozenset(),
        next_producer_id=NO_PRODUCER_ID,
        updated_ms=wall,
        **changes,
    )
