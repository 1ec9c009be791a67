"""The transaction coordinator of one node: its rules beyond those of one shard.

    handlers --event--> TransactionCoordinator --> Shard(TransactionMachine) --> reply
                            |          ^                     |
             ProducerIds <--+          |                     | committed Prepare*,
             when an event wants one   |                     | or found when loaded
                                       |                     v
                                MarkersWritten <------- MarkerSender

Markers follow the committed record and not its answer: whoever asked may be gone, and after
a reload nobody asks. The ticks are Kafka's: transactions that took too long are aborted,
transactional ids nobody uses are forgotten.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kafkapy.broker.metadata.internal_topics import TRANSACTION_STATE
from kafkapy.coordinator.shard import Shard
from kafkapy.coordinator.shards import Shards
from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import SLICE_US, WAITING, Job, Steps
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import later
from kafkapy.runtime.runtime import State, Then
from kafkapy.txn.events import (
    AbortTimedOut,
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    ExpiredForgotten,
    Fact,
    FindTimedOut,
    ForgetExpired,
    InitProducerId,
    ListTransactions,
    MarkersWritten,
    ProducerIdWanted,
    Reply,
    TimedOutFound,
    TransactionListed,
    TransactionLogged,
    TransactionsListed,
    VerifyPartitions,
)
from kafkapy.txn.machine import TransactionMachine, TransactionSettings
from kafkapy.txn.markers import MarkersDue, due
from kafkapy.txn.producer_ids import ProducerIds
from kafkapy.txn.records import TransactionCodec
from kafkapy.txn.transaction import Transaction

# A Complete record that could not be written (not enough replicas) is tried again.
COMPLETE_RETRY_MS: Final = 500

KeyedEvent = (
    InitProducerId
    | AddPartitions
    | VerifyPartitions
    | EndTransaction
    | AbortTimedOut
    | DescribeTransaction
)
_TAKES_PRODUCER_ID: Final = (InitProducerId, EndTransaction, AbortTimedOut)


class SendsMarkers(Protocol):
    def send(
        self,
        due: MarkersDue,
        coordinator_epoch: int,
        is_wanted: Callable[[], bool],
        then: Callable[[frozenset[TopicPartition]], None],
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class CoordinatorIntervals:
    """Kafka's transaction.abort.timed.out.transaction.cleanup.interval.ms and
    transaction.remove.expired.transaction.cleanup.interval.ms."""

    abort_timed_out_ms: int = 10_000
    remove_expired_ms: int = 3_600_000


class TransactionCoordinator:
    def __init__(
        self,
        *,
        clock: Clock,
        producer_ids: ProducerIds,
        markers: SendsMarkers,
        server_version: Callable[[], int],
        settings: TransactionSettings | None = None,
        intervals: CoordinatorIntervals | None = None,
    ) -> None:
        """`server_version`: the finalized transaction.version, now."""
        settings = settings or TransactionSettings()
        self._clock = clock
        self._producer_ids = producer_ids
        self._markers = markers
        self._intervals = intervals or CoordinatorIntervals()
        self._ticks: dict[str, Timer] = {}
        self.shards: Shards[Fact, Reply] = Shards(
            TRANSACTION_STATE,
            new_machine=lambda _: TransactionMachine(settings, server_version),
            codec=TransactionCodec(server_version),
            clock=clock,
            watch=self._watch,
        )

    # Asking

    def submit(self, event: KeyedEvent, then: Then[Reply] | None = None) -> None:
        """`then` gets the reply, or Refused if this node does not coordinate the id now.

        An empty id is nobody's, wherever it would lie: this is said even before there is a
        partition that it would lie in.
        """
        if not event.transactional_id and not isinstance(event, DescribeTransaction):
            if then is not None:
                then(Refused(ErrorCode.INVALID_REQUEST))
            return

        def answered(reply: Reply | Refused) -> None:
            if isinstance(reply, ProducerIdWanted):
                self._producer_ids.next(asked_again)
            elif then is not None:
                then(reply)

        def asked_again(producer_id: int | Refused) -> None:
            if isinstance(producer_id, Refused):
                if then is not None:
                    then(producer_id)
                return
            assert isinstance(event, _TAKES_PRODUCER_ID), ("no use for a producer id", event)
            self.submit(event._replace(fresh_producer_id=producer_id), then)

        self.shards.submit(event.transactional_id, event, answered)

    def list(
        self, event: ListTransactions, then: Callable[[Sequence[TransactionListed]], None]
    ) -> None:
        """What all shards here hold; Refused while one of them is still loading."""
        if any(shard.state is State.LOADING for shard in self.shards.shards.values()):
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

        def answered(replies: Sequence[Reply | Refused]) -> None:
            found = [one for one in replies if isinstance(one, TransactionsListed)]
            then([listed for one in found for listed in one.transactions])

        self.shards.ask_all(event, answered)

    # Markers

    def _watch(self, shard: Shard[Fact, Reply], committed: Sequence[Fact]) -> None:
        if not committed:
            # Loaded: what an earlier leader prepared is finished by this one.
            machine = shard.machine
            assert isinstance(machine, TransactionMachine), machine
            for transaction in list(machine.transactions.values()):
                self._owe(shard, transaction)
            return
        for record in committed:
            if isinstance(record, TransactionLogged):
                self._owe(shard, record.transaction)

    def _owe(self, shard: Shard[Fact, Reply], transaction: Transaction) -> None:
        if not transaction.state.is_prepared:
            return
        owed = due(transaction)
        if not owed.partitions:
            self._note_written(shard, owed, owed.partitions)
            return
        self._markers.send(
            owed,
            shard.leader_epoch,
            lambda: shard.is_active,
            lambda partitions: self._note_written(shard, owed, partitions),
        )

    def _note_written(
        self, shard: Shard[Fact, Reply], owed: MarkersDue, partitions: frozenset[TopicPartition]
    ) -> None:
        def answered(reply: Reply | Refused) -> None:
            if isinstance(reply, Refused) and shard.is_active:
                when = later(self._clock.now(), COMPLETE_RETRY_MS)
                self._clock.call_at(when, lambda: self._note_written(shard, owed, partitions))

        event = MarkersWritten(
            owed.transactional_id,
            owed.producer_id,
            owed.producer_epoch,
            owed.started_ms,
            partitions,
        )
        shard.submit(event, answered)

    # Ticks

    def start(self) -> None:
        self._tick("abort", self._intervals.abort_timed_out_ms, self.abort_timed_out)
        self._tick("expire", self._intervals.remove_expired_ms, self.forget_expired)

    def close(self) -> None:
        for timer in self._ticks.values():
            timer.cancel()
        self._ticks.clear()
        self.shards.close()

    def _tick(self, name: str, interval_ms: int, do: Callable[[], None]) -> None:
        def again() -> None:
            do()
            self._tick(name, interval_ms, do)

        self._ticks[name] = self._clock.call_at(later(self._clock.now(), interval_ms), again)

    def abort_timed_out(self) -> None:
        def found(reply: Reply | Refused) -> None:
            if isinstance(reply, TimedOutFound):
                for transactional_id in reply.transactional_ids:
                    self.submit(AbortTimedOut(transactional_id))

        for shard in self.shards.active_shards():
            shard.submit(FindTimedOut(), found)

    def forget_expired(self) -> None:
        for shard in self.shards.active_shards():
            self._forget_in(shard)

    def _forget_in(self, shard: Shard[Fact, Reply]) -> None:
        """Some at a time, the next when those are gone."""
        has_more = True

        def forgotten(reply: Reply | Refused) -> None:
            nonlocal has_more
            has_more = isinstance(reply, ExpiredForgotten) and reply.has_more
            job.resume()

        def steps() -> Steps:
            while has_more:
                shard.submit(ForgetExpired(), forgotten)
                yield WAITING
                yield SLICE_US

        job = Job(self._clock, steps())
        job.start()
