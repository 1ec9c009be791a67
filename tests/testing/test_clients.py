"""Stock clients against the test's broker, and what the test sees of them."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from kafka import KafkaProducer

from kafkapy.core.ids import TopicPartition
from kafkapy.testing import AsyncBroker, Broker


def test_kafka_python_writes_and_is_seen_asking(kafka: Broker) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, client_id="shop")
    producer.send("orders", b"1", headers=[("h", b"x")]).get(10)
    producer.close()
    (record,) = kafka.wait_for("orders", 1)
    assert record.headers == (("h", b"x"),)
    (produce,) = kafka.requests("Produce")
    assert (produce.client_id, produce.topics) == ("shop", ("orders",))
    assert kafka.requests()[0].api == "ApiVersions"


def test_the_fate_of_transactions_is_shown(kafka: Broker) -> None:
    kafka.create_topic("orders")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"})
    producer.init_transactions(10)
    for value, commits in ((b"kept", True), (b"dropped", False), (b"undecided", None)):
        producer.begin_transaction()
        producer.produce("orders", value)
        producer.flush(10)
        if commits is True:
            producer.commit_transaction(10)
        elif commits is False:
            producer.abort_transaction(10)
    seen = {one.value: (one.transaction, one.is_visible) for one in kafka.records("orders")}
    assert seen == {
        b"kept": ("committed", True),
        b"dropped": ("aborted", False),
        b"undecided": ("open", False),
    }
    assert [one.value for one in kafka.wait_for("orders", 1)] == [b"kept"]
    producer.abort_transaction(10)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_and_their_lag(kafka: Broker, protocol: str) -> None:
    kafka.create_topic("orders", partitions=2)
    for partition in (0, 0, 1):
        kafka.produce("orders", "x", partition=partition)
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "billing",
            "client.id": "biller",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    try:
        assert kafka.lag("billing", "orders") == 3
        for _ in range(3):
            message = consumer.poll(10)
            assert message is not None
            assert message.error() is None
        consumer.commit(asynchronous=False)
        (group,) = kafka.groups()
        assert (group.group_id, group.state, group.kind) == ("billing", "Stable", protocol)
        (member,) = group.members
        assert member.client_id == "biller"
        assert member.partitions == {TopicPartition("orders", 0), TopicPartition("orders", 1)}
        assert kafka.committed("billing")[TopicPartition("orders", 0)] == 2
        kafka.produce("orders", "late", partition=1)
        assert kafka.lag("billing") == 1
    finally:
        consumer.close()


def test_aiokafka_under_asyncio() -> None:
    async def play() -> None:
        async with AsyncBroker() as kafka:
            await kafka.create_topic("orders")
            producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
            await producer.start()
            await producer.send_and_wait("orders", b"1", key=b"k")
            await producer.stop()
            consumer = AIOKafkaConsumer(
                "orders", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest"
            )
            await consumer.start()
            message = await consumer.getone()
            await consumer.stop()
            assert message.value == b"1"
            assert [one.key for one in await kafka.wait_for("orders", 1)] == [b"k"]

    asyncio.run(play())
