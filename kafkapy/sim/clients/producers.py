"""Producers of a simulated cluster, one idempotent or plain client each.

    send --> in flight --> acknowledged | refused
                 \\--- the node dies, or the connection: idempotent: sent again, in order,
                       before all else; plain: nobody knows, nobody asks

An idempotent producer does what Kafka's clients do: at most five batches in flight per
partition, the same sequence numbers in every attempt, a new producer id only after records
were lost for good.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.compression.codecs import Codec
from kafkapy.sim.promises.partitions import NUMBER_HEADER, BrokenPromise, PartitionPromises, Sent
from kafkapy.sim.promises.topics import TopicFacts
from kafkapy.sim.world.frames import Disconnected, HungUp, Pending
from kafkapy.sim.world.world import World

MAX_IN_FLIGHT: Final = 5
# What is answered to a batch that will never be accepted.
_FOR_GOOD: Final = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_TIMESTAMP,
    }
)
# The last version of Produce with topic names.
_BY_NAME: Final = 12
_TIMEOUT_MS: Final = 30_000


@dataclass(slots=True, eq=False)
class SentBatch:
    """Records on their way to one partition."""

    promises: PartitionPromises
    records: Sequence[Sent]
    data: bytes
    may_be_refused: bool
    attempts: int = 0


@dataclass(slots=True, eq=False)
class _Request:
    """A request on its way: its batches by (topic name or id, partition)."""

    batches: dict[tuple[object, int], SentBatch]
    answer: Any = None


@dataclass(slots=True, eq=False)
class Producer:
    """Plain if `producer_id` is -1."""

    name: str
    is_gone: Callable[[PartitionPromises], bool]
    may_be_refused: Callable[[PartitionPromises], bool]
    producer_id: int = -1
    producer_epoch: int = -1
    # What it wrote was lost for good: it needs a new id before it goes on.
    is_outdated: bool = False
    sequences: dict[PartitionPromises, int] = field(default_factory=lambda: defaultdict(int))
    in_flight: dict[PartitionPromises, deque[SentBatch]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    _requests: deque[_Request] = field(default_factory=deque)

    @property
    def is_idempotent(self) -> bool:
        return self.producer_id >= 0

    def may_send(self, promises: PartitionPromises) -> bool:
        return len(self.in_flight[promises]) < MAX_IN_FLIGHT

    def take_id(self, world: World) -> None:
        """Become idempotent, or begin anew, with nothing in flight."""
        answer = world.ask(
            ApiKey.INIT_PRODUCER_ID, {"transactional_id": None, "transaction_timeout": 60_000}
        )
        if answer.error_code:
            raise BrokenPromise(f"InitProducerId: {ErrorCode(answer.error_code)!r}")
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        self.is_outdated = False
        self.sequences.clear()
        self.in_flight.clear()
        self._requests.clear()

    def prepare(
        self,
        promises: PartitionPromises,
        records: Sequence[Sent],
        *,
        codec: Codec,
        may_be_refused: bool,
    ) -> SentBatch:
        """A batch with the next sequence numbers, to be sent now."""
        sequence = -1
        if self.is_idempotent:
            sequence = self.sequences[promises]
            self.sequences[promises] = (sequence + len(records)) % 2**31
        for record in records:
            promises.sent[record.number] = record
        data = build_batch(
            [_new_record(record) for record in records],
            codec=codec,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
        )
        batch = SentBatch(promises, records, data, may_be_refused)
        self.in_flight[promises].append(batch)
        return batch

    def resend(self, world: World) -> None:
        """After a death or on a new connection: idempotent batches that nobody answered, in
        their order."""
        self._requests.clear()
        for promises, batches in list(self.in_flight.items()):
            if not self.is_idempotent or self.is_gone(promises):
                batches.clear()
                continue
            for batch in list(batches):
                self.send(world, [batch], acks=-1, by_id=False)

    def send(self, world: World, batches: Sequence[SentBatch], *, acks: int, by_id: bool) -> None:
        """One request; at most one batch for each partition."""
        topics: dict[TopicFacts, list[dict[str, Any]]] = defaultdict(list)
        for batch in batches:
            topic = batch.promises.topic
            batch.attempts += 1
            for record in batch.records:
                record.era = topic.era
            topics[topic].append({"index": batch.promises.index, "records": batch.data})
        body = {
            "transactional_id": None,
            "acks": acks,
            "timeout": _TIMEOUT_MS,
            "topic_data": [
                {
                    **({"topic_id": topic.topic_id} if by_id else {"name": topic.name}),
                    "partition_data": partitions,
                }
                for topic, partitions in topics.items()
            ],
        }
        version = None if by_id else _BY_NAME
        if acks == 0:
            world.send(
                ApiKey.PRODUCE, body, version=version, then=lambda end: self._hung_up(batches, end)
            )
            for batch in batches:
                self._close(batch)
            return
        request = _Request({_place(batch, by_id=by_id): batch for batch in batches})
        self._requests.append(request)

        def answered(pending: Pending) -> None:
            request.answer = pending.answer
            if not isinstance(pending.answer, Disconnected):
                self._take_answers()
            elif request in self._requests:
                self.resend(world)  # everything: no other is answered either

        world.send(ApiKey.PRODUCE, body, version=version, then=answered)

    def _take_answers(self) -> None:
        """In the order of the requests, as a connection gives them."""
        while self._requests and self._requests[0].answer is not None:
            request = self._requests.popleft()
            for topic in request.answer.responses:
                for answer in topic.partition_responses:
                    named = topic.topic_id if hasattr(topic, "topic_id") else topic.name
                    self._answered(request.batches.pop((named, answer.index)), answer)
            assert not request.batches, ("never answered", request)

    def _hung_up(self, batches: Sequence[SentBatch], pending: Pending) -> None:
        """acks=0 has no other way to say no, and does not say to what."""
        assert isinstance(pending.answer, HungUp), pending.answer
        if isinstance(pending.answer, Disconnected):
            return
        first = batches[0].promises
        allowed = any(one.may_be_refused or self.may_be_refused(one.promises) for one in batches)
        first.require(allowed, f"hung up: {pending.answer}")

    def _answered(self, batch: SentBatch, answer: Any) -> None:
        code = ErrorCode(answer.error_code)
        promises = batch.promises
        if code is ErrorCode.NONE:
            promises.acknowledged(batch.records, answer.base_offset)
        elif code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and _is_there(batch):
            pass  # a snapshot of producers remembers one batch of each, and this is older
        elif code in _FOR_GOOD:
            promises.require(batch.may_be_refused, f"{code!r} {answer.error_message}")
            if batch.attempts == 1:
                promises.refused(batch.records)
        else:
            allowed = self.may_be_refused(promises)
            promises.require(allowed, f"{self.name} gets {code!r} {answer.error_message}")
            if not self.is_gone(promises):
                return  # as if there had been no answer: sent again after the next start
        self._close(batch)

    def _close(self, batch: SentBatch) -> None:
        """Nobody waits for this batch any more."""
        batches = self.in_flight[batch.promises]
        if batch in batches:
            batches.remove(batch)


def _place(batch: SentBatch, *, by_id: bool) -> tuple[object, int]:
    topic = batch.promises.topic
    return (topic.topic_id if by_id else topic.name), batch.promises.index


def _is_there(batch: SentBatch) -> bool:
    """Whether an earlier attempt put it into the log; the cleaner may have taken it again."""
    was_found = all(record.offset is not None for record in batch.records)
    return batch.attempts > 1 and (was_found or batch.promises.topic.was_compacted)


def _new_record(sent: Sent) -> NewRecord:
    return NewRecord(
        key=sent.key,
        value=sent.value,
        timestamp=sent.timestamp,
        headers=((NUMBER_HEADER, str(sent.number).encode()),),
    )
