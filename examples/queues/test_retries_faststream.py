"""A handler that raises gets the message again, later, and the others do not wait for it."""

import asyncio

from faststream.confluent import KafkaBroker
from retries import set_up
from retries_faststream import give_back_what_fails

from kafkapy.testing import Broker


def test_what_a_handler_raises_for_comes_again_until_it_is_a_dead_letter() -> None:
    tried: list[bytes] = []

    async def consume(kafka: Broker) -> None:
        broker = KafkaBroker(kafka.bootstrap, logger=None)
        give_back_what_fails(broker)
        is_buried = asyncio.Event()

        @broker.subscriber("orders", group_id="workers", auto_offset_reset="earliest")
        async def on_order(order: bytes) -> None:
            tried.append(order)
            if order == b"poison":
                raise ValueError("not to be done")

        @broker.subscriber("orders.dead", group_id="morgue", auto_offset_reset="earliest")
        async def on_dead(order: bytes) -> None:
            is_buried.set()

        async with broker:
            await broker.start()
            await asyncio.wait_for(is_buried.wait(), 60)

    with Broker() as kafka:
        set_up(kafka.bootstrap, "orders", "100ms,200ms")
        for order in ("poison", "one", "two"):
            kafka.produce("orders", order, key=order)
        asyncio.run(consume(kafka))
        (dead,) = kafka.records("orders.dead")
    assert tried[:3] == [b"poison", b"one", b"two"]
    assert tried[3:] == [b"poison"] * 2
    headers = dict(dead.headers)
    assert (dead.key, dead.value) == (b"poison", b"poison")
    assert headers["kafkapy.attempts"] == b"2"
    assert headers["kafkapy.origin.topic"] == b"orders"
    assert headers["kafkapy.origin.offset"] == b"0"
    assert headers["kafkapy.error"] == b"ValueError: not to be done"
