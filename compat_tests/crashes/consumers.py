"""Consumers that write down what they see, and the copy of input to output exactly once."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.crashes.producers import StartOver, TransactionalProducer, write_transaction
from compat_tests.crashes.recording import Recording
from compat_tests.waiting import PATIENCE_S, wait_for
from kafkapy.sim.checkers import Outcome, Poll, Read

Where = tuple[str, int]
_CALL_S = 5.0
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


def consumer(bootstrap: str, isolation: str, **more: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "crashes",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
    )


class Reader:
    """Reads partitions from their start, on and on; a poll tells how far it has come."""

    def __init__(
        self,
        bootstrap: str,
        recording: Recording,
        process: int,
        partitions: list[Where],
        isolation: str = COMMITTED,
    ) -> None:
        self._recording, self._process = recording, process
        self._is_committed = isolation == COMMITTED
        self._client = consumer(bootstrap, isolation)
        self._client.assign([TopicPartition(*one, 0) for one in partitions])
        self._positions = dict.fromkeys(partitions, 0)
        self.ended: set[Where] = set()
        self.values: dict[Where, list[str]] = {one: [] for one in partitions}

    def poll(self) -> None:
        operation = self._recording.invoke(self._process, reads_committed=self._is_committed)
        reads: dict[Where, list[Read]] = {}
        moved: dict[Where, int] = {}
        for message in self._client.consume(500, timeout=0.1):
            self._see(message, reads, moved)
        polls = [
            Poll(f"{one[0]}-{one[1]}", self._positions[one], to, tuple(reads.get(one, ())))
            for one, to in moved.items()
        ]
        self._positions.update(moved)
        self._recording.complete(operation, Outcome.OK, polls)

    def _see(
        self, message: Message, reads: dict[Where, list[Read]], moved: dict[Where, int]
    ) -> None:
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            if error.retriable() or error.code() in PASSING:
                return
            raise KafkaException(error)
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert partition is not None
        assert offset is not None
        where = (topic, partition)
        if error is not None:  # the end, for now: everything before it was passed
            moved[where] = max(offset, moved.get(where, self._positions[where]))
            self.ended.add(where)
            return
        value = (message.value() or b"").decode()
        reads.setdefault(where, []).append(Read(offset, value))
        self.values[where].append(value)
        moved[where] = offset + 1

    def read_to_the_ends(self) -> None:
        def at_ends() -> bool:
            self.poll()
            return len(self.ended) == len(self._positions)

        wait_for("a reader reaches every partition's end", at_ends, every_s=0)

    def close(self) -> None:
        self._client.close()


# A broker that is away, or is not the leader yet: the client goes on by itself.
PASSING = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
}


def keep_reading(reader: Reader, is_over: Callable[[], bool]) -> None:
    while not is_over():
        reader.poll()
    reader.close()


class Copier:
    """One life of the copy: from the committed offset on, until its producer is done for."""

    def __init__(
        self, bootstrap: str, source: str, target: str, mark: str, timeout_ms: int
    ) -> None:
        self._source, self._target, self._mark = source, target, mark
        self._producer = TransactionalProducer(bootstrap, "copy", timeout_ms)
        self._client = consumer(bootstrap, COMMITTED, group_id="copy")
        self._at = 0
        self._offsets: list[int] = []
        self._attempts = 0

    def start(self, is_over: Callable[[], bool]) -> None:
        self._producer.start(is_over)
        self._go_to(committed(self._client, self._source))

    def copy(self, recording: Recording, process: int, dice: random.Random) -> None:
        """What is there next, in one transaction with its offset; again after an abort."""
        got = [one for one in self._client.consume(20, timeout=0.2) if one.error() is None]
        if not got:
            return
        self._offsets = [one.offset() or 0 for one in got]
        assert self._offsets[0] >= self._at, ("an input twice", self._offsets, self._at)
        self._at = self._offsets[-1] + 1
        commits = dice.random() < 0.9
        vanishes = dice.random() < 0.02
        operation = write_transaction(
            self._producer, recording, process, self._fill, commits=commits, vanishes=vanishes
        )
        if operation.outcome is not Outcome.OK:
            self._go_to(self._offsets[0])

    def _fill(self, producer: TransactionalProducer) -> None:
        self._attempts += 1  # no value is ever sent twice
        for offset in self._offsets:
            producer.send(self._target, 0, f"{offset}/{self._mark}.{self._attempts}")
        place = [TopicPartition(self._source, 0, self._at)]
        producer.send_offsets(place, self._client.consumer_group_metadata())

    def _go_to(self, offset: int) -> None:
        self._at = offset
        self._client.assign([TopicPartition(self._source, 0, offset)])

    def close(self) -> None:
        self._client.close()


def keep_copying(
    bootstrap: str,
    recording: Recording,
    process: int,
    source: str,
    target: str,
    dice: random.Random,
    is_over: Callable[[], bool],
    *,
    timeout_ms: int,
) -> None:
    """Each input's offset to the output, once: the copy and its offset are one transaction."""
    lives = 0
    while not is_over():
        lives += 1
        copier = Copier(bootstrap, source, target, str(lives), timeout_ms)
        try:
            copier.start(is_over)
            while not is_over():
                copier.copy(recording, process, dice)
        except (StartOver, KafkaException):
            continue  # a KafkaException is the consumer's: the broker is away
        finally:
            copier.close()


def committed(client: Consumer, source: str, partition: int = 0) -> int:
    """Where its group goes on, once no open transaction can still change it."""
    (found,) = client.committed([TopicPartition(source, partition)], timeout=60)
    if found.error is not None:
        raise KafkaException(found.error)
    return max(0, found.offset)


# -- what both kinds of run ask


def create_topics(bootstrap: str, partitions: list[Where]) -> None:
    """Until all of them are led."""
    counts = Counter(topic for topic, _ in partitions)
    new = [NewTopic(topic, count, -1) for topic, count in counts.items()]
    admin = AdminClient({"bootstrap.servers": bootstrap})  # its answers fail without it
    for answer in admin.create_topics(new).values():
        answer.result(PATIENCE_S)
    ends(bootstrap, UNCOMMITTED, partitions)


def ends(bootstrap: str, isolation: str, partitions: list[Where]) -> dict[Where, int]:
    client = consumer(bootstrap, isolation)
    try:
        return {one: end_of(client, one) for one in partitions}
    finally:
        client.close()


def end_of(client: Consumer, where: Where) -> int:
    """The end as a consumer of this isolation level is told it."""

    def asked() -> tuple[int] | None:
        try:
            _, end = client.get_watermark_offsets(TopicPartition(*where), timeout=5)
        except KafkaException:
            return None  # not led yet
        return (end,)

    (end,) = wait_for(f"{where} has a leader", asked)
    return end
