"""What stock producers see of the hooks, and what is in the topics then."""

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Message, Producer
from orders_hooks import IsAnOrder, MaskPeople

from kafkapy.testing import Broker

HOOKS = {"mask": MaskPeople, "order": IsAnOrder}


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker(hooks=HOOKS) as broker:
        broker.create_topic("customers", config={"kafkapy.hook.produce": "mask"})
        broker.create_topic("orders", config={"kafkapy.hook.produce": "order"})
        yield broker


def send(kafka: Broker, topic: str, value: bytes) -> KafkaError | None:
    """None: it is written."""
    told: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        told.append(error)

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": "zstd"})
    producer.produce(topic, value, on_delivery=delivered)
    producer.flush(30)
    (result,) = told
    return result


def test_people_are_not_written(kafka: Broker) -> None:
    said = b'{"mail": "ann@example.org", "card": "4111 1111 1111 1234", "city": "Graz"}'
    assert send(kafka, "customers", said) is None
    (record,) = kafka.records("customers")
    assert record.value == b'{"mail": "***@***", "card": "****1234", "city": "Graz"}'


def test_an_order_is_written_as_it_is(kafka: Broker) -> None:
    order = json.dumps({"number": 1, "customer": "ann", "amount": 9.5}).encode()
    assert send(kafka, "orders", order) is None
    assert [record.value for record in kafka.records("orders")] == [order]


@pytest.mark.parametrize("value", [b"{", b"[]", b'{"number": 1, "customer": "ann"}'])
def test_what_is_no_order_is_refused(kafka: Broker, value: bytes) -> None:
    error = send(kafka, "orders", value)
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD
    assert kafka.records("orders") == []
