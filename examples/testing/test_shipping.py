"""The same ideas under asyncio. A broker to await: `AsyncBroker`, or the fixture `kafka_async`."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import careless_shipping as careless
import pytest
from aiokafka.errors import KafkaError
from shipping import GROUP, Shipping

from kafkapy.testing import AsyncBroker

Application = type[Shipping]
ORDER = '{"address": "Elm Street 1"}'


async def shipped(kafka: AsyncBroker) -> list[bytes | None]:
    return sorted(one.key or b"" for one in await kafka.records("parcels") if one.is_visible)


async def a_broker_that_asks_for_patience_gets_it(
    kafka: AsyncBroker, application: Application
) -> None:
    """Retries: of the parcel, of its transaction, and of the search for who coordinates it."""
    await kafka.produce("orders", ORDER, key="1")
    await kafka.create_topic("parcels")
    kafka.faults.on("Produce", topic="parcels").error("NOT_ENOUGH_REPLICAS").times(3)
    kafka.faults.on("EndTxn").error("COORDINATOR_LOAD_IN_PROGRESS").times(2)
    kafka.faults.on("FindCoordinator").error("COORDINATOR_NOT_AVAILABLE").once()
    async with application(kafka.bootstrap) as shipping:
        await shipping.ship(1)
    assert await shipped(kafka) == [b"1"]


async def an_order_whose_parcel_is_refused_is_not_lost(
    kafka: AsyncBroker, application: Application
) -> None:
    await kafka.produce("orders", ORDER, key="1")
    await kafka.create_topic("parcels")
    kafka.faults.on("Produce", topic="parcels").error("TOPIC_AUTHORIZATION_FAILED").once()
    with suppress(KafkaError):
        async with application(kafka.bootstrap) as shipping:
            await shipping.ship(1)
    assert await kafka.lag(GROUP, "orders") == 1


async def an_order_that_cannot_be_read_does_not_stop_the_others(
    kafka: AsyncBroker, application: Application
) -> None:
    """Poison messages."""
    await kafka.produce("orders", "not an order", key="poison")
    await kafka.produce("orders", ORDER, key="1")
    async with application(kafka.bootstrap) as shipping:
        await shipping.ship(2)
    assert [one.key for one in await kafka.records("orders.bad")] == [b"poison"]
    assert await shipped(kafka) == [b"1"]


async def a_crash_before_the_offset_is_written_ships_once(
    kafka: AsyncBroker, application: Application
) -> None:
    """Exactly once."""
    await kafka.produce("orders", ORDER, key="1")
    await kafka.create_topic("parcels")
    for api in ("OffsetCommit", "TxnOffsetCommit"):
        kafka.faults.on(api).error("GROUP_AUTHORIZATION_FAILED").once()
    with pytest.raises(KafkaError):
        async with application(kafka.bootstrap, "first") as shipping:
            await shipping.ship(1)
    kafka.faults.clear()
    async with application(kafka.bootstrap, "second") as shipping:
        await shipping.ship(1)
    assert await shipped(kafka) == [b"1"]
    assert await kafka.lag(GROUP) == 0


async def a_second_member_repeats_nothing(kafka: AsyncBroker, application: Application) -> None:
    """Rebalances."""
    await kafka.create_topic("orders", partitions=2)
    for number in range(4):
        await kafka.produce("orders", ORDER, key=str(number), partition=number % 2)
    async with application(kafka.bootstrap, "first") as first:
        await first.ship(4)
        async with application(kafka.bootstrap, "second") as second:
            for number in (4, 5):
                await kafka.produce("orders", ORDER, key=str(number), partition=number % 2)
            async with asyncio.timeout(20):
                await asyncio.gather(first.ship(1), second.ship(1))
    assert await shipped(kafka) == [b"0", b"1", b"2", b"3", b"4", b"5"]


SCENARIOS = {
    an_order_whose_parcel_is_refused_is_not_lost: careless.SendsAndForgets,
    an_order_that_cannot_be_read_does_not_stop_the_others: careless.StopsAtPoison,
    a_crash_before_the_offset_is_written_ships_once: careless.WithoutTransactions,
    a_second_member_repeats_nothing: careless.CommitsAtTheEnd,
}
Scenario = Callable[[AsyncBroker, Application], Awaitable[None]]


@pytest.mark.parametrize(
    "scenario",
    [a_broker_that_asks_for_patience_gets_it, *SCENARIOS],
    ids=lambda one: one.__name__,
)
def test_the_right_application(kafka_async: AsyncBroker, scenario: Scenario) -> None:
    asyncio.run(scenario(kafka_async, Shipping))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_the_wrong_application_is_found_out(kafka_async: AsyncBroker, scenario: Scenario) -> None:
    with pytest.raises((AssertionError, KafkaError, ValueError)):
        asyncio.run(scenario(kafka_async, SCENARIOS[scenario]))
