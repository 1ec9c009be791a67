"""A listener that takes nothing: nothing is read for it."""

from typing import Any, cast

import pytest
import trio
import trio.testing

from kafkapy.core.ids import TopicPartition
from kafkapy.http.problems import Problem
from kafkapy.http.rest.push.feeds import Feed, Some
from kafkapy.http.rest.push.pump import Pump
from kafkapy.http.rest.schemas import Schemas
from kafkapy.protocol.records import Record

WHERE = TopicPartition("t", 0)


class Endless(Feed):
    """Ten records an answer."""

    def __init__(self) -> None:
        self.positions = {WHERE: 0}
        self.asked = 0

    async def next(self) -> list[Some]:
        await trio.lowlevel.checkpoint()
        self.asked += 1
        first = self.positions[WHERE]
        self.positions[WHERE] += 10
        return [Some(WHERE, [Record(first + n, 0, None, b"1") for n in range(10)])]


class Listener:
    """Takes as many messages as it is let."""

    def __init__(self, feed: Feed, window: int) -> None:
        self.heard: list[int] = []
        self.turns = trio.Semaphore(0)
        schemas = cast(Schemas, _Plain())
        self.pump = Pump(feed, schemas, self.tell, reading="auto", window=window)

    async def tell(self, kind: str, said: dict[str, Any]) -> None:
        await self.turns.acquire()
        self.heard.append(said["offset"])


class _Plain:
    async def shown(self, records: list[Record], reading: str) -> Any:
        for record in records:
            yield {"offset": record.offset}


def test_the_next_answer_is_asked_for_when_the_last_was_taken() -> None:
    trio.run(_takes_one_after_the_other)


def test_a_window_is_told_and_then_only_what_is_acknowledged() -> None:
    trio.run(_takes_windows, clock=trio.testing.MockClock(autojump_threshold=0))


async def _takes_one_after_the_other() -> None:
    feed = Endless()
    listener = Listener(feed, window=0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.pump.run)
        await trio.testing.wait_all_tasks_blocked()
        assert feed.asked == 1
        for _ in range(9):
            listener.turns.release()
        await trio.testing.wait_all_tasks_blocked()
        assert (feed.asked, len(listener.heard)) == (1, 9)
        for _ in range(2):
            listener.turns.release()
        await trio.testing.wait_all_tasks_blocked()
        assert (feed.asked, listener.heard[-1]) == (2, 10)
        nursery.cancel_scope.cancel()


async def _takes_windows() -> None:
    feed = Endless()
    listener = Listener(feed, window=3)
    for _ in range(100):
        listener.turns.release()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.pump.run)
        await trio.sleep(60)
        assert (listener.heard, feed.asked) == ([0, 1, 2], 1)
        listener.pump.acknowledge(WHERE, 1)
        await trio.sleep(60)
        assert listener.heard == [0, 1, 2, 3, 4]
        with pytest.raises(Problem):
            listener.pump.acknowledge(WHERE, 1)
        nursery.cancel_scope.cancel()
