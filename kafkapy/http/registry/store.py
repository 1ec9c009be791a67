"""The `_schemas` topic: followed by every node, written by one at a time.

    every node     fetches partition 0 from its start and applies what it gets, for ever
    who writes     has the newest epoch of one transactional id, and no transaction

Confluent's registry elects a leader and hands requests to it. Here whoever is asked writes, and
the partition's leader sees to it that only one does: producers with an epoch fence older ones.

    1. InitProducerId("kafkapy-schema-registry"): an epoch newer than everybody else's
    2. a NOOP with it: from now on the partition refuses what older epochs send
    3. apply everything up to that NOOP: nothing can come between any more
    4. decide; write; wait until it is applied
    a later request applies what is there now, and goes on at 4; what is fenced (somebody else did
    1 and 2) begins at 1

That needs no leader, no forwarding between nodes and no time-out: a node that dies is fenced by
the next who writes. Records are plain ones, so that other registries read the topic as theirs.
A partition forgets producers that were silent for `producer.id.expiration.ms`; who was silent for
longer than a minute begins at 1.

What is decided without writing anything (a refusal, what is there already) nobody fences. It rests
on all that was written when it was asked for: that is why a later request catches up first.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import trio

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka import own_topics
from kafkapy.http.kafka.client import TRANSACTION, Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.records import END, START, fetch, list_offsets, produce
from kafkapy.http.registry.configs import DEFAULT_LEVEL, Level
from kafkapy.http.registry.errors import RegistryError
from kafkapy.http.registry.hearing import has_topic
from kafkapy.http.registry.records import Noop, Record, Unreadable, decode, encode
from kafkapy.http.registry.state import State
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord

TRANSACTIONAL_ID = "kafkapy-schema-registry"
_PARTITION = 0
_SILENT_SECONDS = 60.0
_AGAIN_SECONDS = 0.2
_POLL_MS = 500
_FETCH_BYTES = 4 << 20
#: Records that are applied before others of this thread get their turn.
_SLICE = 100
#: Nodes that write at the same time fence one another. Each waits then, for how long by chance, so
#: that one gets through: at most so long the first time, up to so long later, and so long in all.
_PAUSES_SECONDS = (0.005, 0.2)
_PATIENCE_SECONDS = 10.0
_FENCED = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)
_ABSENT = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

Decision = TypeVar("Decision")
#: Given the state: the records to write, and what to make of it.
Decide = Callable[[State], Awaitable[tuple[Sequence[Record], Decision]]]


class _Turn(NamedTuple):
    """This node's right to write."""

    producer_id: int
    epoch: int
    sequence: int


class Store:
    """The state, as far as this node has read it, and the way to change it."""

    def __init__(
        self, connect: Callable[[], Kafka], topic: str, default_level: Level = DEFAULT_LEVEL
    ) -> None:
        self.state = State(default_level)
        self.topic = topic
        #: Records that this registry does not know: another make's, or damaged.
        self.skipped = 0
        self._connect = connect
        self._next_offset = 0
        #: Of which topic: one that was deleted and made again has another id.
        self._topic_id: object = None
        self._moved = trio.Event()
        self._writing = trio.Lock()
        self._turn: _Turn | None = None
        self._last_written = 0.0

    # Reading

    async def follow(self) -> None:
        """For ever. The state begins anew if the topic was deleted."""
        async with self._connect() as kafka:
            while True:
                try:
                    await self._read(kafka)
                except KafkaError as failed:
                    if failed.code in _ABSENT:
                        self._begin_anew()
                    elif failed.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                        await self._after_truncation(kafka)
                    await trio.sleep(_AGAIN_SECONDS)

    async def caught_up(self) -> State:
        """The state once it has everything that was written before this was asked for."""
        kafka = self._connect()
        if not await has_topic(kafka, self.topic):
            return self.state
        try:
            topic_id = kafka.topic(self.topic).id
            ends = await list_offsets(kafka, self.topic, {_PARTITION: END}, committed=True)
        except KafkaError as failed:
            if failed.code in _ABSENT:
                return self.state
            raise
        await self._applied(ends[_PARTITION], kafka.timeout_ms, topic_id)
        return self.state

    async def _read(self, kafka: Kafka) -> None:
        topic_id = kafka.topic(self.topic).id
        if topic_id != self._topic_id:
            self._begin_anew()
            self._topic_id = topic_id
            self._wake()
        got = await fetch(
            kafka,
            self.topic,
            _PARTITION,
            self._next_offset,
            max_bytes=_FETCH_BYTES,
            max_wait_ms=_POLL_MS,
        )
        for index, record in enumerate(got.records):
            if index % _SLICE == 0:
                await trio.lowlevel.checkpoint()
            try:
                known = decode(record.key, record.value, record.timestamp)
            except Unreadable:
                self.skipped += 1
                continue
            self.state.apply(known)
        if got.next_offset > self._next_offset:
            self._next_offset = got.next_offset
            self._wake()

    async def _after_truncation(self, kafka: Kafka) -> None:
        """A leader that does not have what was read: read all of it again."""
        starts = await list_offsets(kafka, self.topic, {_PARTITION: START})
        self._begin_anew()
        self._next_offset = starts[_PARTITION]

    def _begin_anew(self) -> None:
        if self._next_offset:
            self.state = State(self.state.default_level)
            self._next_offset = 0
            self._turn = None

    def _wake(self) -> None:
        moved, self._moved = self._moved, trio.Event()
        moved.set()

    async def _applied(self, offset: int, timeout_ms: int, topic_id: object = None) -> None:
        """Everything before that offset, of that topic if it is named."""
        with trio.move_on_after(timeout_ms / 1000):
            while self._next_offset < offset or topic_id not in (None, self._topic_id):
                await self._moved.wait()
            return
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, self.topic, "the registry is still behind")

    # Writing

    async def change(self, decide: Decide[Decision]) -> Decision:
        """Decide with nobody else writing, and make it so. `decide` may be called again."""
        kafka = self._connect()
        pause, longest = _PAUSES_SECONDS
        async with self._writing:
            until = trio.current_time() + _PATIENCE_SECONDS
            while trio.current_time() < until:
                try:
                    return await self._decided(kafka, decide)
                except KafkaError as failed:
                    if failed.code not in _FENCED:
                        raise
                await trio.sleep(random.uniform(0, pause))  # nosec B311 - no secret
                pause = min(2 * pause, longest)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, self.topic, "others keep writing")

    async def _decided(self, kafka: Kafka, decide: Decide[Decision]) -> Decision:
        is_certain = False
        try:
            await self._take_turn(kafka)
            records, decision = await decide(self.state)
            if records:
                await self._write(kafka, records)
            is_certain = True
            return decision
        except RegistryError:
            # Refused, and nothing written.
            is_certain = True
            raise
        finally:
            # Otherwise it may have been written, or not, also when who asked has gone. The next
            # number is not known then: whoever decides next takes an epoch, and has read it.
            if not is_certain:
                self._turn = None

    async def _take_turn(self, kafka: Kafka) -> None:
        if self._turn is not None and trio.current_time() - self._last_written < _SILENT_SECONDS:
            await self.caught_up()
        else:
            self._turn = None
        # What was read may have shown that the topic is another one now.
        if self._turn is not None:
            return
        if self.topic not in kafka.image.topics_by_name:
            await own_topics.make(kafka, self.topic, 1, {"cleanup.policy": "compact"})
        body = {
            "transactional_id": TRANSACTIONAL_ID,
            "transaction_timeout": 60_000,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        answer = await kafka.ask_coordinator(
            TRANSACTIONAL_ID,
            ApiKey.INIT_PRODUCER_ID,
            body,
            lambda answer: int(answer.error_code),
            TRANSACTION,
        )
        if answer.error_code:
            raise KafkaError(answer.error_code, TRANSACTIONAL_ID)
        self._turn = _Turn(answer.producer_id, answer.producer_epoch, 0)
        await self._write(kafka, [Noop()])

    async def _write(self, kafka: Kafka, records: Sequence[Record]) -> None:
        """All of them or none: one batch."""
        turn = self._turn
        if turn is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, self.topic, "the topic is new")
        now = int(time.time() * 1000)
        packed = [NewRecord(*encode(record), timestamp=now) for record in records]
        written = await produce(kafka, self.topic, _PARTITION, packed, producer=turn)
        self._turn = turn._replace(sequence=turn.sequence + len(packed))
        self._last_written = trio.current_time()
        await self._applied(written.offset + len(packed), kafka.timeout_ms)
