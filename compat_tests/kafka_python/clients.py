"""Short ways to say what the tests of this folder say often."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaConnectionError, TopicAlreadyExistsError

from compat_tests.waiting import PATIENCE_S, wait_for


class PatientAdmin:
    """Asks again when a connection broke: kafka-python leaves that to who asked."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.was_broken = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def asked(*arguments: Any, **named: Any) -> Any:
            def answer() -> tuple[Any] | None:
                try:
                    return (method(*arguments, **named),)
                except KafkaConnectionError:
                    self.was_broken = True
                    return None

            return wait_for(f"an answer to {name}", answer)[0]

        return asked


@contextmanager
def admin(broker: str) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=broker)
    try:
        yield PatientAdmin(client)
    finally:
        client.close()


@contextmanager
def producer(broker: str, **settings: Any) -> Iterator[Any]:
    client = KafkaProducer(bootstrap_servers=broker, **settings)
    try:
        yield client
    finally:
        client.close(timeout=5)


@contextmanager
def consumer(broker: str, **settings: Any) -> Iterator[Any]:
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 100, **settings}
    client = KafkaConsumer(bootstrap_servers=broker, **settings)
    try:
        yield client
    finally:
        client.close()


def create(
    broker: str, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> None:
    """Create a topic; it is ready to be used on return."""
    wanted = NewTopic(topic, partitions, -1, topic_configs=dict(configs or {}))
    with admin(broker) as client:
        try:
            client.create_topics([wanted])
        except TopicAlreadyExistsError:
            if not client.was_broken:
                raise
        wait_for(f"{topic} has leaders", lambda: is_led(client, topic))


def is_led(client: Any, topic: str) -> bool:
    (found,) = client.describe_topics([topic])
    return not found["error_code"] and all(p["leader_id"] >= 0 for p in found["partitions"])


def write(broker: str, topic: str, values: Sequence[bytes | None], **settings: Any) -> list[Any]:
    """Send values to partition 0 and wait for each one's metadata."""
    with producer(broker, **settings) as client:
        futures = [client.send(topic, value, partition=0) for value in values]
        return [future.get(timeout=PATIENCE_S) for future in futures]


def polled(client: Any, count: int) -> list[Any]:
    """The next `count` records that a consumer gets."""
    got: list[Any] = []

    def poll() -> bool:
        for records in client.poll(timeout_ms=1000).values():
            got.extend(records)
        return len(got) >= count

    wait_for(f"{count} records", poll, every_s=0)
    assert len(got) == count
    return got


def read(broker: str, topic: str, count: int, *, offset: int = 0, **settings: Any) -> list[Any]:
    with consumer(broker, **settings) as client:
        client.assign([TopicPartition(topic, 0)])
        client.seek(TopicPartition(topic, 0), offset)
        return polled(client, count)
