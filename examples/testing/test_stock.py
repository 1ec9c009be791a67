"""FastStream runs its own consumer, so a test waits for what comes of it."""

import asyncio
from collections.abc import Awaitable, Callable

import careless_stock as careless
import pytest
from stock import GROUP, Stock

from kafkapy.testing import AsyncBroker

Application = type[Stock]


async def all_is_read(kafka: AsyncBroker) -> None:
    async with asyncio.timeout(20):
        while await kafka.lag(GROUP, "orders"):
            await asyncio.sleep(0.02)


async def reserved(kafka: AsyncBroker) -> list[bytes | None]:
    return [one.key for one in await kafka.records("reservations")]


async def a_reservation_that_is_refused_is_tried_again(
    kafka: AsyncBroker, application: Application
) -> None:
    """Retries."""
    await kafka.produce("orders", '{"id": "1", "item": "hat"}')
    await kafka.create_topic("reservations")
    refused = kafka.faults.on("Produce").error("TOPIC_AUTHORIZATION_FAILED").once()
    async with application(kafka.bootstrap, set()):
        await all_is_read(kafka)
    assert refused.fired
    assert await reserved(kafka) == [b"1"]


async def an_order_that_comes_twice_is_reserved_once(
    kafka: AsyncBroker, application: Application
) -> None:
    """Idempotence."""
    for _ in range(2):
        await kafka.produce("orders", '{"id": "1", "item": "hat"}')
    async with application(kafka.bootstrap, set()):
        await all_is_read(kafka)
    assert await reserved(kafka) == [b"1"]


async def an_order_that_cannot_be_read_does_not_stop_the_others(
    kafka: AsyncBroker, application: Application
) -> None:
    """Poison messages."""
    await kafka.produce("orders", "not an order")
    await kafka.produce("orders", '{"id": "1", "item": "hat"}')
    asked_again = 0
    async with application(kafka.bootstrap, set()):
        while await kafka.lag(GROUP, "orders"):
            await asyncio.sleep(0.02)
            asked_again = sum("orders" in one.topics for one in kafka.requests("Fetch"))
            assert asked_again < 20, "the first order is read again and again"
    assert [one.value for one in await kafka.records("orders.bad")] == [b"not an order"]
    assert await reserved(kafka) == [b"1"]


SCENARIOS = {
    a_reservation_that_is_refused_is_tried_again: careless.AcknowledgesFirst,
    an_order_that_comes_twice_is_reserved_once: careless.ReservesTwice,
    an_order_that_cannot_be_read_does_not_stop_the_others: careless.StopsAtPoison,
}
Scenario = Callable[[AsyncBroker, Application], Awaitable[None]]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_right_application(kafka_async: AsyncBroker, scenario: Scenario) -> None:
    asyncio.run(scenario(kafka_async, Stock))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_application_is_found_out(kafka_async: AsyncBroker, scenario: Scenario) -> None:
    with pytest.raises(AssertionError):
        asyncio.run(scenario(kafka_async, SCENARIOS[scenario]))
