"""Producers that write down what they do, and live through the death of their broker.

A transaction ends in one of three ways, and which one is all that matters to the checkers:

    commit_transaction returned       OK
    commit was never asked for        FAIL: for certain not committed
    asked for, and then an error      INFO: it happened whole, or not at all

librdkafka says of an error whether to try again, to abort, or to start over as a new
producer; this does what it is told.
"""

import random
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from compat_tests.crashes.recording import Recording
from kafkapy.sim.checkers import Operation, Outcome, Send

TRANSACTION_TIMEOUT_MS = 4_000
# Of transactions on Apache Kafka: it takes longer to start, and README.md says why none may time
# out while it does.
LONG_TRANSACTION_TIMEOUT_MS = 20_000
_CALL_S = 5.0
# A connection that ends wakes whoever waits for another one: README.md, "What librdkafka does".
_IDLE_MS = 5_000


class StartOver(Exception):
    """This producer can do nothing any more; another one with its id can."""


class TransactionalProducer:
    def __init__(self, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._client = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": timeout_ms,
                "delivery.timeout.ms": timeout_ms - 500,
                "linger.ms": 2,
                "reconnect.backoff.max.ms": 200,
                # README.md, "What librdkafka does by itself"
                "metadata.recovery.strategy": "none",
                "connections.max.idle.ms": _IDLE_MS,
                # Without it `flush` and `poll` raise a fatal error as a KafkaError; the next
                # call that can fail says it too, as the KafkaException that is expected.
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )
        self._sends: list[Send] = []

    def start(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            try:
                self._client.init_transactions(_CALL_S)
                return
            except KafkaException as failed:
                if not _error(failed).retriable():
                    raise StartOver from failed
        raise StartOver

    def begin(self) -> None:
        self._sends = []
        self._client.begin_transaction()

    def send(self, topic: str, partition: int, value: str) -> None:
        """Its offset is filled in when it is acknowledged."""
        at = len(self._sends)
        sends = self._sends  # of this transaction: an answer may come after its end
        sends.append(Send(f"{topic}-{partition}", value))

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                return
            offset = message.offset()
            if offset is not None and offset >= 0:
                sends[at] = sends[at]._replace(offset=offset)

        self._client.produce(topic, value.encode(), partition=partition, on_delivery=delivered)
        self._client.poll(0)

    @property
    def sends(self) -> tuple[Send, ...]:
        return tuple(self._sends)

    def flush(self) -> None:
        self._client.flush(_CALL_S)

    def send_offsets(self, positions: list[Any], group: Any) -> None:
        self._until_done(
            lambda: self._client.send_offsets_to_transaction(positions, group, _CALL_S)
        )

    def commit(self) -> None:
        self._until_done(lambda: self._client.commit_transaction(_CALL_S))

    def abort(self) -> None:
        while True:
            try:
                self._client.abort_transaction(_CALL_S)
                return
            except KafkaException as failed:
                if not _error(failed).retriable():
                    raise StartOver from failed

    def _until_done(self, call: Callable[[], None]) -> None:
        while True:
            try:
                call()
                return
            except KafkaException as failed:
                if not _error(failed).retriable():
                    raise


def write_transaction(
    producer: TransactionalProducer,
    recording: Recording,
    process: int,
    fill: Callable[[TransactionalProducer], None],
    *,
    commits: bool,
    vanishes: bool,
) -> Operation:
    """One transaction of any outcome, recorded. StartOver if the producer is done for."""
    operation = recording.invoke(process, is_transaction=True)
    outcome = Outcome.FAIL
    try:
        producer.begin()
        fill(producer)
        if vanishes:
            producer.flush()
            raise StartOver
        if commits:
            recording.commit_invoked(operation)
            outcome = Outcome.INFO
            producer.commit()
            outcome = Outcome.OK
        else:
            producer.abort()
    except KafkaException as failed:
        recording.tell(_error(failed), "transaction")
        if not _error(failed).txn_requires_abort():
            raise StartOver from failed
        producer.abort()
        outcome = Outcome.FAIL  # to be told to abort is to be told that it is not committed
    finally:
        recording.complete(operation, outcome, producer.sends)
    return operation


def keep_writing(
    bootstrap: str,
    recording: Recording,
    process: int,
    transactional_id: str,
    partitions: list[tuple[str, int]],
    dice: random.Random,
    is_over: Callable[[], bool],
    *,
    timeout_ms: int,
) -> None:
    """Transactions over several partitions: commit, abort, or vanish and come back."""
    count = 0

    def fill(producer: TransactionalProducer) -> None:
        nonlocal count
        for _ in range(dice.randint(1, 12)):
            count += 1
            topic, partition = dice.choice(partitions)
            producer.send(topic, partition, f"{process}:{count}")
        if dice.random() < 0.3:
            producer.flush()

    while not is_over():
        producer = TransactionalProducer(bootstrap, transactional_id, timeout_ms)
        try:
            producer.start(is_over)
            while not is_over():
                write_transaction(
                    producer,
                    recording,
                    process,
                    fill,
                    commits=dice.random() < 0.75,
                    vanishes=dice.random() < 0.02,
                )
        except StartOver:
            continue


def keep_writing_plainly(
    bootstrap: str,
    recording: Recording,
    process: int,
    topic: str,
    pause: Callable[[float], Any],
    is_over: Callable[[], bool],
    *,
    partition: int = 0,
    every_s: float = 0.004,
) -> None:
    """An idempotent producer without transactions: every record is an operation."""
    client = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "delivery.timeout.ms": 120_000,
            "linger.ms": 5,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    count = 0

    def send() -> None:
        value = f"{process}:{count}"
        operation = recording.invoke(process)

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                recording.tell(error, "record")
            outcome = Outcome.OK if error is None else Outcome.INFO
            offset = message.offset() if error is None else None
            recording.complete(operation, outcome, (Send(f"{topic}-{partition}", value, offset),))

        client.produce(topic, value.encode(), partition=partition, on_delivery=delivered)

    while not is_over():
        count += 1
        send()
        client.poll(0)
        pause(every_s)
    left = client.flush(60)
    assert left == 0, f"{left} plain records were never answered"


def _error(failed: KafkaException) -> KafkaError:
    error = failed.args[0]
    assert isinstance(error, KafkaError), failed
    return error
