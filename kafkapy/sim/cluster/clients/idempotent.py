"""An idempotent producer with several batches in flight, and a plain one without a promise.

    1..5 batches of one partition at once --> answers --> from the first that failed on: again
                                                          with the same sequence numbers

What acks=all acknowledged is there for ever. So a broker that says OUT_OF_ORDER_SEQUENCE_NUMBER
to the batch behind an acknowledged one has lost that, and is caught at once. Unless that batch was
sent before: then it may be there, and the snapshot of producers from which the broker began
remembers only the last batch of each (as in Apache Kafka). Such a one is `believed` to be there,
which is judged at the end. A producer's first batch to a partition is given up instead.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.checkers import History, Outcome, Send
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep, Together
from kafkapy.sim.cluster.clients.routed import RETRY_MS, Talk
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng

E: Final = ErrorCode
_MOST_IN_FLIGHT: Final = 5
_MOST_RECORDS: Final = 4
_RETRIABLE: Final = frozenset(
    {
        E.NOT_LEADER_OR_FOLLOWER,
        E.LEADER_NOT_AVAILABLE,
        E.FENCED_LEADER_EPOCH,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.KAFKA_STORAGE_ERROR,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        E.REQUEST_TIMED_OUT,
        E.NETWORK_EXCEPTION,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
    }
)
_ACKS_ALL, _ACKS_LEADER = -1, 1


@dataclass(slots=True, eq=False)
class _Batch:
    values: Sequence[str]
    sequence: int
    base_offset: int | None = None
    is_done: bool = False
    attempts: int = 0
    is_given_up: bool = False


@dataclass(slots=True)
class IdempotentProducer:
    """`is_calm`: no more of it, but one batch to each partition."""

    clock: Clock
    history: History
    process: int
    partitions: Sequence[TopicPartition]
    dice: SimRng
    is_calm: Callable[[], bool]
    new_value: Callable[[], str]
    acknowledged: int = 0
    believed: list[tuple[TopicPartition, str]] = field(default_factory=list)
    _producer_id: int = -1
    _epoch: int = -1
    _sequences: dict[TopicPartition, int] = field(default_factory=lambda: defaultdict(int))

    def act(self) -> Actor:
        yield from self._begin()
        while not self.is_calm():
            yield from self._send(self.dice.choice(self.partitions))
            yield Sleep(self.dice.magnitude(1, 400))
        for partition in self.partitions:
            yield from self._send(partition)

    def _begin(self) -> Talk:
        body = {"transactional_id": None, "transaction_timeout": 60_000}
        while True:
            answer = yield Ask(ApiKey.INIT_PRODUCER_ID, 4, body)
            if answer is not LOST:
                if answer.error_code == 0:
                    break
                if E(answer.error_code) not in _RETRIABLE:
                    raise BrokenPromise(f"InitProducerId: {E(answer.error_code)!r}")
            yield Sleep(RETRY_MS)
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def _send(self, partition: TopicPartition) -> Talk:
        """Some batches, until all are acknowledged."""
        batches = []
        for _ in range(self.dice.magnitude(1, _MOST_IN_FLIGHT)):
            values = [self.new_value() for _ in range(self.dice.between(1, _MOST_RECORDS))]
            batches.append(_Batch(values, self._sequences[partition]))
            self._sequences[partition] += len(values)
        operations = [self.history.invoke(self.process) for _ in batches]
        try:
            while not all(batch.is_done for batch in batches):
                yield from self._attempt(partition, batches)
        finally:
            for operation, batch in zip(operations, batches, strict=True):
                # Without its offset nobody can miss it.
                is_known = batch.is_done and not batch.is_given_up
                outcome = Outcome.OK if is_known else Outcome.INFO
                self.history.complete(operation, outcome, *_sends(partition, batch))

    def _attempt(self, partition: TopicPartition, batches: Sequence[_Batch]) -> Talk:
        first = next(at for at, batch in enumerate(batches) if not batch.is_done)
        left = batches[first:]
        for batch in left:
            batch.attempts += 1
        answers = yield Together(
            tuple(produce(partition, self._encoded(batch), _ACKS_ALL) for batch in left)
        )
        is_first = True
        for batch, answer in zip(left, answers, strict=True):
            self._heard(partition, batch, answer, is_first=is_first)
            is_first = is_first and batch.is_done
        if not is_first:
            yield Sleep(RETRY_MS)

    def _heard(
        self, partition: TopicPartition, batch: _Batch, answer: Any, *, is_first: bool
    ) -> None:
        """`is_first`: all before it are acknowledged."""
        if answer is LOST:
            return
        (row,) = answer.responses[0].partition_responses
        error = E(row.error_code)
        if error in (E.NONE, E.DUPLICATE_SEQUENCE_NUMBER):
            batch.is_done = True
            self.acknowledged += len(batch.values)
            if row.base_offset >= 0:
                batch.base_offset = row.base_offset
        elif error is E.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_first:
            return  # it will be its turn
        elif error is E.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.attempts > 1:
            batch.is_done = True
            if batch.sequence > 0:
                self.believed += [(partition, value) for value in batch.values]
            else:
                # Those behind it may have been taken and this one not, as by Apache Kafka: of a
                # producer that a partition does not know any sequence is the first.
                batch.is_given_up = True
        elif error not in _RETRIABLE:
            raise BrokenPromise(
                f"{partition} says {error!r} to sequence {batch.sequence} of producer "
                f"{self._producer_id}, and everything before it was acknowledged"
            )

    def _encoded(self, batch: _Batch) -> bytes:
        return build_batch(
            [NewRecord(None, value.encode(), self.clock.now()) for value in batch.values],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=batch.sequence,
        )


def plain_producer(
    clock: Clock,
    history: History,
    process: int,
    partitions: Sequence[TopicPartition],
    dice: SimRng,
    is_calm: Callable[[], bool],
    new_value: Callable[[], str],
) -> Actor:
    """acks=1 and no retries: what it was told may be lost with the leader, but what it sends is
    there once at most."""
    while not is_calm():
        partition = dice.choice(partitions)
        values = [new_value() for _ in range(dice.between(1, _MOST_RECORDS))]
        operation = history.invoke(process)
        records = build_batch([NewRecord(None, one.encode(), clock.now()) for one in values])
        yield produce(partition, records, _ACKS_LEADER)
        sends = [Send(partition, one) for one in values]
        history.complete(operation, Outcome.INFO, *sends)
        yield Sleep(dice.magnitude(1, 400))


def produce(partition: TopicPartition, records: bytes, acks: int) -> Ask:
    rows = [{"index": partition.partition, "records": records}]
    body = {
        "transactional_id": None,
        "acks": acks,
        "timeout": 5_000,
        "topic_data": [{"name": partition.topic, "partition_data": rows}],
    }
    return Ask(ApiKey.PRODUCE, 12, body)


def _sends(partition: TopicPartition, batch: _Batch) -> list[Send]:
    base = batch.base_offset
    return [
        Send(partition, value, None if base is None else base + at)
        for at, value in enumerate(batch.values)
    ]
