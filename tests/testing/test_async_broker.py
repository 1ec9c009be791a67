"""The form to await: under asyncio, under Trio, and under anyio on either."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest
import trio

from kafkapy.testing import AsyncBroker, Broker


async def exercise() -> None:
    async with AsyncBroker() as kafka:
        await kafka.create_topic("orders")
        await kafka.produce("orders", "1", key="k")
        await kafka.restart()
        assert [one.value for one in await kafka.wait_for("orders")] == [b"1"]
        assert await kafka.topics() == {"orders": 1}
        assert await kafka.lag("billing", "orders") == 1
        assert await kafka.groups() == []
        kafka.clock.advance(hours=1)
        assert kafka.requests() == []
        with pytest.raises(TimeoutError, match="1 of 2 records"):
            await kafka.wait_for("orders", 2, timeout=0.01)
        await kafka.kill()
        assert not kafka.is_running
        await kafka.start()
        assert len(await kafka.records("orders")) == 1


@pytest.mark.parametrize(
    "run",
    [
        asyncio.run,
        lambda play: trio.run(lambda: play),
        lambda play: anyio.run(lambda: play, backend="asyncio"),
        lambda play: anyio.run(lambda: play, backend="trio"),
    ],
    ids=["asyncio", "trio", "anyio on asyncio", "anyio on trio"],
)
def test_it_runs_under(run: Callable[[Awaitable[None]], None]) -> None:
    run(exercise())


def test_whoever_cancels_a_wait_does_not_wait_for_its_timeout() -> None:
    async def play() -> None:
        async with AsyncBroker() as kafka:
            with trio.move_on_after(0.05) as scope:
                await kafka.wait_for("never", timeout=3600)
            assert scope.cancelled_caught

    trio.run(play)


def test_the_fixtures_broker_can_be_awaited(kafka: Broker, kafka_async: AsyncBroker) -> None:
    async def play() -> None:
        writer = asyncio.get_running_loop().create_task(kafka_async.produce("orders", "1"))
        assert len(await kafka_async.wait_for("orders")) == 1
        await writer

    asyncio.run(play())
    assert kafka_async.bootstrap == kafka.bootstrap
