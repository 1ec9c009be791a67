"""A transactional producer of either protocol, as patient as the real ones.

    v1 (librdkafka)   AddPartitionsToTxn 3, Produce 11, AddOffsetsToTxn, EndTxn 4
    v2 (Java 4)       Produce 12, TxnOffsetCommit 5, EndTxn 5: the epoch moves with every end

Whatever it does is written into a history. A request that was lost is sent again as it was;
the broker has to know it for what it is. A producer that is fenced starts over, as a new
process with the same transactional id would.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.checkers import History, Operation, Outcome, Send
from kafkapy.sim.clients.actors import LOST, Ask, Sleep

E: Final = ErrorCode
RETRY_MS: Final = 20
_RETRIABLE: Final = frozenset(
    {
        E.CONCURRENT_TRANSACTIONS,
        E.COORDINATOR_LOAD_IN_PROGRESS,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_COORDINATOR,
        E.NOT_ENOUGH_REPLICAS,
        E.NOT_LEADER_OR_FOLLOWER,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.LEADER_NOT_AVAILABLE,
        E.REQUEST_TIMED_OUT,
        E.FENCED_LEADER_EPOCH,
        E.KAFKA_STORAGE_ERROR,
        E.NETWORK_EXCEPTION,
        E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)
_FENCED: Final = frozenset(
    {
        E.INVALID_PRODUCER_EPOCH,
        E.PRODUCER_FENCED,
        E.INVALID_PRODUCER_ID_MAPPING,
        E.INVALID_TXN_STATE,
        E.TRANSACTION_ABORTABLE,
    }
)
GROUP: Final = "transformers"

Talk = Generator[Ask | Sleep, Any, Any]


class Fenced(Exception):
    """This producer's time is over; a new one may begin."""


class Consumed(NamedTuple):
    """Where the inputs of a transaction end: committed with its outputs, or not at all."""

    partition: TopicPartition
    next_offset: int


@dataclass(slots=True)
class TransactionalProducer:
    clock: Clock
    history: History
    process: int
    transactional_id: str
    is_v2: bool
    timeout_ms: int = 5_000
    producer_id: int = -1
    epoch: int = -1
    _sequences: dict[TopicPartition, int] = field(default_factory=dict)
    _added: set[TopicPartition] = field(default_factory=set)
    _sends: list[Send] = field(default_factory=list)

    def begin(self) -> Talk:
        """InitProducerId, until it is granted."""
        body = {"transactional_id": self.transactional_id, "transaction_timeout": self.timeout_ms}
        answer = yield from self._ask(ApiKey.INIT_PRODUCER_ID, 4, body)
        assert answer.error_code == 0, answer
        self._take(answer.producer_id, answer.producer_epoch)

    def open(self) -> Operation:
        self._added.clear()
        self._sends = []
        return self.history.invoke(self.process, is_transaction=True)

    def send(self, partition: TopicPartition, values: Sequence[str]) -> Talk:
        """One batch, until it is acknowledged. Raises Fenced."""
        if not self.is_v2 and partition not in self._added:
            yield from self._add(partition)
        sequence = self._sequences.get(partition, 0)
        now = self.clock.now()
        batch = build_batch(
            [NewRecord(None, value.encode(), now) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        # Sent, so it may be there, whatever is heard of it.
        at = len(self._sends)
        self._sends += [Send(partition, value) for value in values]
        body = {
            "transactional_id": self.transactional_id,
            "acks": -1,
            "timeout": 30_000,
            "topic_data": [
                {
                    "name": partition.topic,
                    "partition_data": [{"index": partition.partition, "records": batch}],
                }
            ],
        }
        answer = yield from self._ask(ApiKey.PRODUCE, 12 if self.is_v2 else 11, body)
        (row,) = answer.responses[0].partition_responses
        for count, value in enumerate(values):
            self._sends[at + count] = Send(partition, value, row.base_offset + count)
        self._sequences[partition] = sequence + len(values)

    def commit_offsets(self, consumed: Consumed) -> Talk:
        """The inputs' offset goes with the transaction. Raises Fenced."""
        who = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "group_id": GROUP,
        }
        if not self.is_v2:
            yield from self._ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, who)
        topic, index = consumed.partition
        offset = {"partition_index": index, "committed_offset": consumed.next_offset}
        body = {**who, "member_id": "", "topics": [{"name": topic, "partitions": [offset]}]}
        yield from self._ask(ApiKey.TXN_OFFSET_COMMIT, 5 if self.is_v2 else 3, body)

    def end(self, operation: Operation, commit: bool) -> Talk:
        """EndTxn, until it is known what became of it. True if it was committed."""
        if commit:
            self.history.commit_invoked(operation)
        body = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": commit,
        }
        try:
            answer = yield from self._ask(ApiKey.END_TXN, 5 if self.is_v2 else 4, body)
        except Fenced:
            # Who asked to commit and is fenced then does not know which came first.
            self.close(operation, Outcome.INFO if commit else Outcome.FAIL)
            raise
        self.close(operation, Outcome.OK if commit else Outcome.FAIL)
        if self.is_v2:
            self._take(answer.producer_id, answer.producer_epoch)

    def close(self, operation: Operation, outcome: Outcome) -> None:
        self.history.complete(operation, outcome, *self._sends)

    def _add(self, partition: TopicPartition) -> Talk:
        body = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [{"name": partition.topic, "partitions": [partition.partition]}],
        }
        yield from self._ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, body)
        self._added.add(partition)

    def _take(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch

    def _ask(self, api_key: ApiKey, version: int, body: dict[str, Any]) -> Talk:
        """Again and again, until the answer is neither "later" nor lost."""
        while True:
            answer = yield Ask(api_key, version, body)
            if answer is LOST:
                continue
            error = _error_of(api_key, answer)
            if error is E.NONE:
                return answer
            if error in _FENCED:
                raise Fenced(error.name)
            assert error in _RETRIABLE, (api_key.name, error.name, body, answer)
            yield Sleep(RETRY_MS)


def _error_of(api_key: ApiKey, answer: Any) -> ErrorCode:
    match api_key:
        case ApiKey.PRODUCE:
            (row,) = answer.responses[0].partition_responses
            return ErrorCode(row.error_code)
        case ApiKey.ADD_PARTITIONS_TO_TXN:
            (row,) = answer.results_by_topic_v3_and_below[0].results_by_partition
            return ErrorCode(row.partition_error_code)
        case ApiKey.TXN_OFFSET_COMMIT:
            (row,) = answer.topics[0].partitions
            return ErrorCode(row.error_code)
    return ErrorCode(answer.error_code)
