"""Views read by kafka-python, aiokafka and Java; a compacted source; what goes over the wire."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer, Producer
from kafka import KafkaConsumer

from compat_tests.installation import Bundle
from compat_tests.oracle import run_tool
from kafkapy.testing import Broker

WANTED = list(range(0, 300, 10))
NO_RECORDS_LEFT_MS = 20_000


@pytest.fixture
def kafka() -> Iterator[Broker]:
    """Three transactions of a hundred records, one in ten of which is shown; the second one is
    aborted."""
    with Broker() as broker:
        broker.create_topic("orders")
        view(broker, "orders.eu", "value.region is 'eu'")
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "shop"})
        producer.init_transactions(30)
        for first in (0, 100, 200):
            producer.begin_transaction()
            for number in range(first, first + 100):
                region = "us" if number % 10 else "eu"
                producer.produce("orders", json.dumps({"region": region, "number": number}), "k")
            producer.flush(30)
            producer.abort_transaction(30) if first == 100 else producer.commit_transaction(30)
        yield broker


def view(broker: Broker, name: str, where: str) -> None:
    config = {"kafkapy.view.of": name.partition(".")[0], "kafkapy.view.where": where}
    broker.create_topic(name, -1, config)


def seen(is_committed_only: bool) -> dict[int, int]:
    """The number that is shown at each offset; a transaction's marker takes one."""
    numbers = [one for one in WANTED if not (is_committed_only and 100 <= one < 200)]
    return {number + number // 100: number for number in numbers}


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_kafka_python_reads_a_view(kafka: Broker, isolation: str) -> None:
    wanted = seen(isolation == "read_committed")
    consumer = KafkaConsumer(
        "orders.eu",
        bootstrap_servers=kafka.bootstrap,
        group_id="office",
        auto_offset_reset="earliest",
        isolation_level=isolation,
        consumer_timeout_ms=NO_RECORDS_LEFT_MS,
    )
    found: dict[int, int] = {}
    for message in consumer:
        found[message.offset] = json.loads(message.value)["number"]
        if len(found) == len(wanted):
            break
    consumer.close()
    assert found == wanted


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_aiokafka_reads_a_view(kafka: Broker, isolation: str) -> None:
    wanted = seen(isolation == "read_committed")

    async def read() -> dict[int, int]:
        consumer = AIOKafkaConsumer(
            "orders.eu",
            bootstrap_servers=kafka.bootstrap,
            group_id="office",
            auto_offset_reset="earliest",
            isolation_level=isolation,
        )
        await consumer.start()
        found: dict[int, int] = {}
        while len(found) < len(wanted):
            message = await consumer.getone()
            found[message.offset] = json.loads(message.value)["number"]
        await consumer.stop()
        return found

    assert asyncio.run(asyncio.wait_for(read(), 60)) == wanted


@pytest.mark.java
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_java_reads_a_view(
    kafka: Broker, apache_kafka_jars: Bundle, isolation: str, protocol: str
) -> None:
    wanted = seen(isolation == "read_committed")
    done = run_tool(
        "kafka-console-consumer",
        *("--bootstrap-server", kafka.bootstrap, "--topic", "orders.eu", "--from-beginning"),
        *("--isolation-level", isolation, "--command-property", f"group.protocol={protocol}"),
        *("--formatter-property", "print.offset=true", "--group", "office"),
        *("--max-messages", str(len(wanted)), "--timeout-ms", str(NO_RECORDS_LEFT_MS)),
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        offset, _, value = line.partition("\t")
        found[int(offset.removeprefix("Offset:"))] = json.loads(value)["number"]
    assert found == wanted


def test_a_view_of_a_compacted_topic_shows_what_compaction_left(kafka: Broker) -> None:
    """Older values of a key are gone from the view as they are from its source; a tombstone is
    shown where the expression says so."""
    settings = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
        "segment.bytes": "1048576",
        "segment.ms": "1000",
        "max.compaction.lag.ms": "1000",
    }
    kafka.create_topic("state", config=settings)
    view(kafka, "state.even", "number(key) % 2 is 0 and (value is null or value.n >= 0)")
    for turn in range(3):
        for key in range(10):
            kafka.produce("state", json.dumps({"n": turn}), str(key))
    kafka.produce("state", None, "4")
    before = {record.offset for record in kafka.records("state")}
    while len(kafka.records("state")) > 12:
        kafka.clock.advance(seconds=30)
        kafka.produce("state", json.dumps({"n": 9}), "last")
    left = {one.offset: one for one in kafka.records("state") if one.offset in before}
    assert len(left) < len(before)
    wanted = [
        (one.offset, one.key, one.value)
        for one in left.values()
        if one.key is not None and int(one.key) % 2 == 0
    ]
    assert read(kafka, "state.even", len(wanted)) == wanted


def read(kafka: Broker, topic: str, count: int) -> list[tuple[int, bytes | None, bytes | None]]:
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found: list[tuple[int, bytes | None, bytes | None]] = []
    while len(found) < count:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            key, value = message.key(), message.value()
            assert not isinstance(key, str)
            assert not isinstance(value, str)
            found.append((message.offset() or 0, key, value))
    consumer.close()
    return found


def test_what_is_not_shown_does_not_go_over_the_wire(kafka: Broker) -> None:
    """One record of 1 KB in a hundred: less than a fiftieth of the bytes."""
    kafka.create_topic("large")
    view(kafka, "large.few", "offset % 100 is 0")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 50})
    for _ in range(20_000):
        producer.produce("large", bytes(1024))
        producer.poll(0)
    producer.flush(60)
    everything, view_alone = received(kafka, "large", 20_000), received(kafka, "large.few", 200)
    assert everything > 20_000 * 1024
    assert view_alone < everything / 50


def received(kafka: Broker, topic: str, count: int) -> int:
    """Bytes over the wire to a consumer that reads so many records."""
    told: list[int] = []

    def hear(statistics: str) -> None:
        told.append(sum(one["rxbytes"] for one in json.loads(statistics)["brokers"].values()))

    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": f"reads {topic}",
            "auto.offset.reset": "earliest",
            "statistics.interval.ms": 50,
            "stats_cb": hear,
        }
    )
    consumer.subscribe([topic])
    while count:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            count -= 1
    told.clear()
    while not told:
        consumer.poll(0.1)
    consumer.close()
    return told[-1]
