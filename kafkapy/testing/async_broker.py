"""`AsyncBroker`: the same broker for tests under asyncio, Trio or anyio.

The broker lives on its own thread and loop whatever runs the test; what differs is only
how a blocking call is waited for, and sniffio knows which library asks.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import sniffio

from kafkapy.core.ids import TopicPartition
from kafkapy.testing.asking.coordinators import LostCoordinator
from kafkapy.testing.asking.groups import Group, Member
from kafkapy.testing.asking.reading import Record
from kafkapy.testing.broker import LOOK_SECONDS, Broker, Looking, Text
from kafkapy.testing.gate.faults import Faults
from kafkapy.testing.gate.requests import Request
from kafkapy.testing.node.clock import Time
from kafkapy.testing.node.running import DiskSpace

T = TypeVar("T")


class AsyncBroker:
    """`async with AsyncBroker() as kafka`; see Broker for what each method does. Faults, the
    clock and the disk are the broker's own: to use them takes no time worth waiting for."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        api_versions: str | None = None,
        hooks: Mapping[str, object] | None = None,
    ) -> None:
        self.broker = Broker(settings, directory=directory, api_versions=api_versions, hooks=hooks)

    @classmethod
    def around(cls, broker: Broker) -> "AsyncBroker":
        """The awaitable face of a broker that somebody else starts and ends."""
        made = cls.__new__(cls)
        made.broker = broker
        return made

    async def __aenter__(self) -> "AsyncBroker":
        await _in_thread(self.broker.start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A cancelled test still waits for this: the milliseconds of a clean end.
        self.broker.__exit__(kind, error, trace)

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    @property
    def is_running(self) -> bool:
        return self.broker.is_running

    @property
    def faults(self) -> Faults:
        return self.broker.faults

    @property
    def clock(self) -> Time:
        return self.broker.clock

    @property
    def disk(self) -> DiskSpace:
        return self.broker.disk

    async def create_topic(
        self, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        await _in_thread(self.broker.create_topic, topic, partitions, config)

    async def topics(self) -> dict[str, int]:
        return await _in_thread(self.broker.topics)

    async def produce(
        self,
        topic: str,
        value: Text,
        key: Text = None,
        headers: Mapping[str, Text] | Sequence[tuple[str, Text]] = (),
        partition: int | None = None,
        timestamp: int | None = None,
    ) -> TopicPartition:
        return await _in_thread(
            self.broker.produce, topic, value, key, headers, partition, timestamp
        )

    async def records(self, topic: str) -> list[Record]:
        return await _in_thread(self.broker.records, topic)

    async def wait_for(self, topic: str, count: int = 1, timeout: float = 10.0) -> list[Record]:
        # Look by look, not in one thread: whoever cancels this does not wait for its timeout.
        looking = Looking(self.broker, topic, count, timeout)
        while (found := await _in_thread(looking.look)) is None:
            await _sleep(LOOK_SECONDS)
        return found

    async def groups(self) -> list[Group]:
        return await _in_thread(self.broker.groups)

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        return await _in_thread(self.broker.committed, group)

    async def lag(self, group: str, topic: str | None = None) -> int:
        return await _in_thread(self.broker.lag, group, topic)

    async def expire_member(
        self, group: str, *, member_id: str | None = None, client_id: str | None = None
    ) -> Member:
        expire = partial(self.broker.expire_member, member_id=member_id, client_id=client_id)
        return await _in_thread(expire, group)

    def lose_coordinator(
        self, *, group: str | None = None, transactional_id: str | None = None
    ) -> LostCoordinator:
        return self.broker.lose_coordinator(group=group, transactional_id=transactional_id)

    def requests(self, api: str | None = None) -> list[Request]:
        return self.broker.requests(api)

    def forget_requests(self) -> None:
        self.broker.forget_requests()

    def events(self) -> list[tuple[str, str, dict[str, Any]]]:
        return self.broker.events()

    async def start(self) -> None:
        await _in_thread(self.broker.start)

    async def stop(self) -> None:
        await _in_thread(self.broker.stop)

    async def kill(self) -> None:
        await _in_thread(self.broker.kill)

    async def restart(self) -> None:
        await _in_thread(self.broker.restart)

    async def close(self) -> None:
        await _in_thread(self.broker.close)


async def _in_thread(work: Callable[..., T], *args: Any) -> T:
    """anyio runs on one of the two, and sniffio names that one."""
    if sniffio.current_async_library() == "trio":
        import trio

        return await trio.to_thread.run_sync(partial(work, *args))
    import asyncio

    return await asyncio.to_thread(work, *args)


async def _sleep(seconds: float) -> None:
    if sniffio.current_async_library() == "trio":
        import trio

        await trio.sleep(seconds)
    else:
        import asyncio

        await asyncio.sleep(seconds)
