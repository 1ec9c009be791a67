"""An order that fails is tried again later, three times at most; the others do not wait for it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from retries import Worker, give_back_async, set_up

from kafkapy.testing import Broker

DELAYS = "100ms,200ms,300ms"


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        set_up(broker.bootstrap, "orders", DELAYS)
        yield broker


def work_until(worker: Worker, is_done: Callable[[], bool]) -> None:
    for _ in range(300):
        if is_done():
            return
        worker.work(0.2)
    raise AssertionError("there was time enough")


def test_what_fails_comes_again_and_what_always_fails_is_a_dead_letter(kafka: Broker) -> None:
    tried: list[str] = []

    def do(order: bytes) -> None:
        name = order.decode()
        tried.append(name)
        if name == "poison" or (name == "shaky" and tried.count(name) < 3):
            raise ValueError(f"{name} is not to be done")

    for order in ("poison", "shaky", *(f"order{number}" for number in range(5))):
        kafka.produce("orders", order, key=order)
    worker = Worker(kafka.bootstrap, "orders", "workers", do)
    work_until(worker, lambda: Counter(tried)["poison"] == 4 and Counter(tried)["shaky"] == 3)
    (dead,) = kafka.wait_for("orders.dead")
    worker.close()
    assert Counter(tried) == {
        "poison": 4,
        "shaky": 3,
        **{f"order{number}": 1 for number in range(5)},
    }
    assert tried[:7] == ["poison", "shaky", *(f"order{number}" for number in range(5))]
    headers = dict(dead.headers)
    assert dead.value == b"poison"
    assert dead.key == b"poison"
    assert headers["kafkapy.attempts"] == b"3"
    assert headers["kafkapy.origin.topic"] == b"orders"
    assert (headers["kafkapy.origin.partition"], headers["kafkapy.origin.offset"]) == (b"0", b"0")
    assert headers["kafkapy.error"] == b"ValueError: poison is not to be done"


def test_an_asynchronous_consumer_gives_back_as_well(kafka: Broker) -> None:
    async def consume() -> list[bytes]:
        consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=kafka.bootstrap,
            group_id="others",
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True)
        await consumer.start()
        await producer.start()
        came = []
        try:
            while len(came) < 2:
                order = await asyncio.wait_for(consumer.getone(), 30)
                came.append(dict(order.headers).get("kafkapy.attempts", b"0"))
                if len(came) == 1:
                    await give_back_async(producer, order, RuntimeError("no"))
        finally:
            await consumer.stop()
            await producer.stop()
        return came

    kafka.produce("orders", "order", key="order")
    assert asyncio.run(consume()) == [b"0", b"1"]
