"""Short ways to say what the tests of this folder say often."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from compat_tests.waiting import PATIENCE_S, wait_for

# Of a leader that has moved or does not know of it yet: librdkafka asks no second time where a
# partition ends.
_ASKED_AGAIN = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}

Headers = list[tuple[str, bytes | None]]


@cache
def admin(broker: str) -> AdminClient:
    """One client per broker: its futures fail once nobody holds it any more."""
    return AdminClient({"bootstrap.servers": broker, "log_level": 2})


def producer(broker: str, settings: Mapping[str, Any] | None = None) -> Producer:
    return Producer(
        {
            "bootstrap.servers": broker,
            "linger.ms": 0,
            "delivery.timeout.ms": 20000,
            "log_level": 2,
            **(settings or {}),
        }
    )


@contextmanager
def consumer(broker: str, settings: Mapping[str, Any] | None = None) -> Iterator[Consumer]:
    """A consumer, closed at the end; assigned by hand unless the test subscribes it."""
    client = Consumer(
        {
            "bootstrap.servers": broker,
            "group.id": f"assigned-{uuid.uuid4().hex[:8]}",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
            "log_level": 2,
            **(settings or {}),
        }
    )
    try:
        yield client
    finally:
        client.close()


def create(
    broker: str, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> None:
    """Create a topic; it is ready to be used on return."""
    new = NewTopic(
        topic, num_partitions=partitions, replication_factor=-1, config=dict(configs or {})
    )
    admin(broker).create_topics([new])[topic].result(PATIENCE_S)
    wait_until_ready(broker, topic)


def wait_until_ready(broker: str, topic: str) -> None:
    """Apache Kafka answers CreateTopics from the controller, before its broker knows."""

    def is_ready() -> bool:
        found = admin(broker).list_topics(topic, timeout=PATIENCE_S).topics[topic]
        leaders = [partition.leader for partition in found.partitions.values()]
        return bool(leaders) and -1 not in leaders

    wait_for(f"{topic} has leaders", is_ready, every_s=0.01)


def delivered(client: Producer, records: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Produce all, wait for every report; the first that failed is raised."""
    reports = attempted(client, records)
    for error, _ in reports:
        if error is not None:
            raise KafkaException(error)
    return [message for _, message in reports]


def attempted(
    client: Producer, records: Iterable[Mapping[str, Any]]
) -> list[tuple[KafkaError | None, Message]]:
    """Produce all and return every delivery report, in the order in which they came."""
    reports: list[tuple[KafkaError | None, Message]] = []
    expected = 0
    for record in records:
        client.produce(**record, on_delivery=lambda error, m: reports.append((error, m)))
        expected += 1
    left = client.flush(PATIENCE_S)
    assert left == 0, f"{left} of {expected} records had no delivery report"
    assert len(reports) == expected
    return reports


def write(broker: str, topic: str, values: Iterable[bytes], **settings: Any) -> list[Message]:
    """Produce values to partition 0."""
    names = {name.replace("_", "."): value for name, value in settings.items()}
    records = [{"topic": topic, "value": value, "partition": 0} for value in values]
    return delivered(producer(broker, names), records)


def polled(client: Consumer, count: int, timeout_s: float = PATIENCE_S) -> list[Message]:
    """Exactly the next `count` records that an already assigned consumer gets."""
    got: list[Message] = []

    def poll() -> bool:
        for message in client.consume(count - len(got), timeout=0.2):
            if message.error() is not None:
                raise KafkaException(message.error())
            got.append(message)
        return len(got) >= count

    wait_for(f"{count} records", poll, timeout_s=timeout_s, every_s=0)
    return got


def read(
    broker: str,
    topic: str,
    count: int,
    *,
    partition: int = 0,
    offset: int = OFFSET_BEGINNING,
    settings: Mapping[str, Any] | None = None,
) -> list[Message]:
    """Consume `count` records of a partition by assignment."""
    with consumer(broker, settings) as client:
        client.assign([TopicPartition(topic, partition, offset)])
        return polled(client, count)


def watermarks(broker: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Log start offset and high watermark, asked of the broker."""
    where = TopicPartition(topic, partition)

    def asked() -> tuple[int, int] | None:
        try:
            found: tuple[int, int] = client.get_watermark_offsets(where, PATIENCE_S)
        except KafkaException as failure:
            if error_of(failure).code() not in _ASKED_AGAIN:
                raise
            return None
        return found

    with consumer(broker) as client:
        return wait_for(f"{where} tells its ends", asked)


def error_of(failure: BaseException) -> KafkaError:
    """The KafkaError inside an exception of this library."""
    assert isinstance(failure, KafkaException), failure
    error = failure.args[0]
    assert isinstance(error, KafkaError)
    return error
