"""The compose files serve clients on the host and beside them, soon after `up --wait`."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from container_tests.conftest import MakeCompose
from container_tests.engine import Compose

THREE = Path("docker/compose.yaml")
SINGLE = Path("docker/compose.single.yaml")
APACHE = Path("container_tests/apache.compose.yaml")


def bootstrap(ports: list[int]) -> str:
    return ",".join(f"127.0.0.1:{port}" for port in ports)


def goes_round(
    servers: str, topic: str, count: int = 100, settings: Mapping[str, Any] | None = None
) -> None:
    """A stock client writes with acks=all and reads it all back."""
    given = {"bootstrap.servers": servers, **(settings or {})}
    producer = Producer({**given, "acks": "all", "linger.ms": 5})
    told: list[object] = []
    for index in range(count):
        producer.produce(topic, str(index), on_delivery=lambda error, _: told.append(error))
    assert producer.flush(60) == 0
    assert told == [None] * count
    consumer = Consumer({**given, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    seen: set[bytes | None] = set()
    give_up_at = time.monotonic() + 60
    while len(seen) < count and time.monotonic() < give_up_at:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            value = message.value()
            seen.add(value if isinstance(value, bytes) else None)
    consumer.close()
    assert len(seen) == count


@pytest.fixture
def three(compose: MakeCompose, ports: list[int]) -> Compose:
    told = {f"KAFKAPY_PORT_{number}": str(port) for number, port in enumerate(ports, 1)}
    cluster = compose(THREE, **told)
    cluster("up", "--detach", "--wait", "--no-build")
    return cluster


def test_three_nodes_serve_programs_on_the_host_and_in_the_network(
    three: Compose, ports: list[int]
) -> None:
    """Each client is sent to addresses that it reaches."""
    admin = AdminClient({"bootstrap.servers": bootstrap(ports)})
    brokers = admin.list_topics(timeout=30).brokers.values()
    assert {f"{one.host}:{one.port}" for one in brokers} == {f"localhost:{port}" for port in ports}
    inside = three("exec", "kafka-1", "kafkapy", "topics", "create", "orders", "--partitions", "6",
                   "--bootstrap-server", "kafka-2:19092")  # fmt: skip
    assert "orders" in inside
    goes_round(bootstrap(ports), "orders")


def test_one_node_serves_programs_on_the_host(compose: MakeCompose, ports: list[int]) -> None:
    one = compose(SINGLE, KAFKAPY_PORT=str(ports[0]))
    one("up", "--detach", "--wait", "--no-build")
    one("exec", "kafka", "kafkapy", "topics", "create", "t", "--bootstrap-server", "kafka:19092")
    goes_round(bootstrap(ports[:1]), "t")


def test_a_file_written_for_apache_kafka_works_when_the_image_is_changed(
    compose: MakeCompose, ports: list[int]
) -> None:
    """Its health checks call Apache Kafka's scripts, and a service makes the topic with them."""
    told = {f"PORT_{number}": str(port) for number, port in enumerate(ports, 1)}
    cluster = compose(APACHE, **told)
    cluster("up", "--detach", "--wait", "kafka-1", "kafka-2", "kafka-3")
    assert cluster("run", "--rm", "--no-TTY", "topics").splitlines()[-1] == "orders"
    goes_round(bootstrap(ports), "orders")
