"""One partition of `__transaction_state` as a machine: decide reads, apply writes.

    event --> decide --> record --> appended and applied --> committed --> reply
                                                                  | Prepare*?
          partitions' leaders <-- WriteTxnMarkers <-- broker/transactions/marker_sender.py <-+
                   |
                   +--> MarkersWritten --> ... --> the Complete record

State is the last record of every transactional id, less the partitions that were marked.
There is no "pending" state as in Kafka's coordinator: the runtime lets no answer out before
everything it was based on is committed, so a second request for an id is answered in order
instead of being told to come back (CONCURRENT_TRANSACTIONS) while the first is replicated.
Between Prepare* and Complete* it is told that, as by Kafka.
"""

from collections.abc import Callable, Mapping
from typing import Final, assert_never

from kafkapy.core.data import dataclass
from kafkapy.core.step import Loaded, Step, TimerFired
from kafkapy.core.time import Instant
from kafkapy.txn import end, expiry, init_producer_id, listing, markers, partitions, timeouts
from kafkapy.txn.events import (
    AbortTimedOut,
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    Event,
    Fact,
    FindTimedOut,
    ForgetExpired,
    InitProducerId,
    ListTransactions,
    MarkersWritten,
    PartitionsMarked,
    Reply,
    TransactionForgotten,
    TransactionLogged,
    VerifyPartitions,
)
from kafkapy.txn.transaction import Transaction

_SEVEN_DAYS_MS: Final = 7 * 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Kafka's defaults. `transaction.max.timeout.ms`, `transactional.id.expiration.ms`."""

    max_timeout_ms: int = 900_000
    expiration_ms: int = _SEVEN_DAYS_MS


class TransactionMachine:
    def __init__(self, settings: TransactionSettings, server_version: Callable[[], int]) -> None:
        """`server_version`: the finalized transaction.version, which may change."""
        self._settings = settings
        self._server_version = server_version
        self._transactions: dict[str, Transaction] = {}

    @property
    def transactions(self) -> Mapping[str, Transaction]:
        return self._transactions

    def decide(self, event: Event, now: Instant, wall: Instant) -> Step[Fact, Reply]:
        """There are no timers here: all that counts is when a record says that it was."""
        match event:
            case AddPartitions():
                return partitions.decide_add(event, self._of(event), wall)
            case EndTransaction():
                return end.decide(event, self._of(event), wall)
            case MarkersWritten():
                return markers.decide_written(event, self._of(event), wall)
            case VerifyPartitions():
                return partitions.decide_verify(event, self._of(event))
            case InitProducerId():
                return init_producer_id.decide(
                    event,
                    self._of(event),
                    wall,
                    max_timeout_ms=self._settings.max_timeout_ms,
                    server_version=self._server_version(),
                )
            case AbortTimedOut():
                return end.decide_timed_out(event, self._of(event), wall, self._server_version())
            case FindTimedOut():
                return timeouts.decide_find(self._transactions.values(), wall)
            case ForgetExpired():
                return expiry.decide_forget(
                    self._transactions.values(), wall, self._settings.expiration_ms
                )
            case DescribeTransaction():
                return listing.decide_describe(event, self._of(event))
            case ListTransactions():
                return listing.decide_list(event, self._transactions.values(), wall)
            case Loaded() | TimerFired():
                return Step()  # what has to happen by itself is asked for from outside
            case _:
                assert_never(event)

    def apply(self, record: Fact) -> None:
        match record:
            case TransactionLogged(transaction):
                self._transactions[transaction.transactional_id] = transaction
            case TransactionForgotten(transactional_id):
                self._transactions.pop(transactional_id, None)
            case PartitionsMarked(transactional_id, marked):
                prepared = self._transactions[transactional_id]
                remaining = prepared.partitions - marked
                self._transactions[transactional_id] = prepared._replace(partitions=remaining)
            case _:
                assert_never(record)

    def _of(
        self,
        event: AddPartitions
        | VerifyPartitions
        | EndTransaction
        | MarkersWritten
        | InitProducerId
        | AbortTimedOut
        | DescribeTransaction,
    ) -> Transaction | None:
        return self._transactions.get(event.transactional_id)
