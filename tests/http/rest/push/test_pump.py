"""A listener that takes nothing: nothing is read for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import trio
import trio.testing

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import check
from kafkapy.http.kafka.unread import Unread
from kafkapy.http.problems import Problem
from kafkapy.http.rest.push import held, pump
from kafkapy.http.rest.push.feeds import Feed, Some
from kafkapy.http.rest.push.held import Held
from kafkapy.http.rest.push.members import Member
from kafkapy.http.rest.push.pump import Pump
from kafkapy.http.rest.schemas import Schemas
from kafkapy.protocol.batches.batch import build_batch
from kafkapy.protocol.batches.records import NewRecord, Record

WHERE = TopicPartition("t", 0)


class Endless(Feed):
    """Ten records an answer."""

    def __init__(self) -> None:
        self.kafka = cast(Kafka, None)
        self.positions = {WHERE: 0}
        self.asked: list[int] = []

    async def next(self) -> list[Some]:
        await trio.lowlevel.checkpoint()
        first = self.positions[WHERE]
        self.asked.append(first)
        data = build_batch([NewRecord(value=b"1", timestamp=0)] * 10, base_offset=first)
        return [Some(WHERE, Unread(data, first, (), "t-0"))]


class Taking:
    """A listener that takes as many messages as it is let."""

    def __init__(self, feed: Feed, held: Held | None = None, window: int = 0) -> None:
        self.heard: list[int] = []
        self.told: list[dict[str, Any]] = []
        self.turns = trio.Semaphore(0)
        schemas = cast(Schemas, _Plain())
        self.pump = Pump(feed, schemas, self, held or Held(), reading="auto", window=window)

    def take(self, count: int) -> None:
        for _ in range(count):
            self.turns.release()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.pump.run)
            yield
            nursery.cancel_scope.cancel()

    async def tell(self, kind: str, said: dict[str, Any]) -> None:
        if kind == "committed":
            self.told.append(said)

    def packed(self, message: dict[str, Any]) -> bytes:
        return str(message["offset"]).encode()

    async def tell_packed(self, messages: list[bytes]) -> None:
        for message in messages:
            await self.turns.acquire()
            self.heard.append(int(message))


class _Plain:
    async def shown(self, kafka: Any, records: list[Record], reading: str) -> Any:
        for record in records:
            yield {"offset": record.offset}


def test_the_next_answer_is_asked_for_when_the_last_was_taken() -> None:
    trio.run(_takes_one_after_the_other)


def test_a_window_is_told_and_then_only_what_is_acknowledged() -> None:
    clock = trio.testing.MockClock()
    trio.run(_takes_windows, clock, clock=clock)


def test_beyond_what_all_may_keep_the_longest_stuck_keeps_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three listeners take one message each of an answer, room is for two answers' rest: the first
    is fetched for again where it stopped. Nobody misses anything."""
    monkeypatch.setattr(pump, "_PIECE_BYTES", 1)
    monkeypatch.setattr(held, "MOST_BYTES", 2 * _SIZE)
    trio.run(_take_little)


async def _take_little() -> None:
    shelf = Held()
    feeds = [Endless() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        listeners = []
        for feed in feeds:
            listeners.append(Taking(feed, shelf))
            nursery.start_soon(listeners[-1].pump.run)
            await trio.testing.wait_all_tasks_blocked()
        assert 0 < shelf.size <= 2 * _SIZE
        for listener in listeners:
            listener.take(10)
        await trio.testing.wait_all_tasks_blocked()
        assert [one.heard for one in listeners] == [list(range(10))] * 3
        assert feeds[0].asked[:2] == [0, 1], "what it had been told is not fetched again"
        nursery.cancel_scope.cancel()
    assert shelf.size == 0


def test_only_what_was_committed_is_told_to_be() -> None:
    """Its epoch changes while it commits: what is acknowledged is told once it is committed. Of a
    partition that is somebody else's by then nothing is told."""
    clock = trio.testing.MockClock()
    trio.run(_commit_late, clock, clock=clock)


async def _commit_late(clock: trio.testing.MockClock) -> None:
    member = Given()
    listener = Taking(member, window=5)
    listener.take(100)
    async with listener.running():
        await _a_minute(clock)
        listener.pump.acknowledge(WHERE, 1)
        await trio.testing.wait_all_tasks_blocked()
        assert (member.asked_to_commit, listener.told) == ([{WHERE: 2}], [])
        member.is_stale = False
        await _a_minute(clock)
        assert listener.told == [{"offsets": [{"topic": "t", "partition": 0, "offset": 2}]}]
        del member.positions[WHERE]
        listener.pump.acknowledge(WHERE, 2)
        await _a_minute(clock)
        assert len(listener.told) == 1
        assert member.asked_to_commit[2:] == [{WHERE: 3}], "it is not asked for again"


class Given(Endless, Member):
    """A member of one partition, that is told when it commits in vain."""

    def __init__(self) -> None:
        Endless.__init__(self)
        self.is_stale = True
        self.asked_to_commit: list[dict[TopicPartition, int]] = []

    async def next(self) -> list[Some]:
        if not self.positions:
            await trio.sleep_forever()
        return await super().next()

    async def keep(self) -> bool:
        return False

    async def leave(self) -> None:
        pass

    async def commit(self, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        await trio.lowlevel.checkpoint()
        self.asked_to_commit.append(offsets)
        mine = {where: one for where, one in offsets.items() if where in self.positions}
        return {} if self.is_stale else mine


def test_a_member_says_what_it_has_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing while its epoch changes each time; then of two partitions the one that it owns."""
    member, other = Member(cast(Kafka, None), "g", ["t"], "m", 0), TopicPartition("t", 1)
    member.positions[WHERE] = 7
    answers = [ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.NONE]

    async def commit(*_: object, **__: object) -> None:
        check(answers.pop(0))

    async def beat(_: Member) -> bool:
        return True

    monkeypatch.setattr(groups, "commit", commit)
    monkeypatch.setattr(Member, "beat", beat)

    async def work() -> None:
        assert await member.commit({WHERE: 7, other: 1}) == {}
        assert await member.commit({WHERE: 7, other: 1}) == {WHERE: 7}

    trio.run(work)


def test_an_acknowledgement_may_be_late_or_come_twice() -> None:
    """Nothing happens. Only what was never told is no acknowledgement."""
    clock = trio.testing.MockClock()
    trio.run(_acknowledge_again, clock, clock=clock)


async def _acknowledge_again(clock: trio.testing.MockClock) -> None:
    feed = Endless()
    listener = Taking(feed, window=3)
    listener.take(100)
    async with listener.running():
        await _a_minute(clock)
        for offset in (2, 2, 0, 1):
            listener.pump.acknowledge(WHERE, offset)
        await _a_minute(clock)
        assert listener.heard == [0, 1, 2, 3, 4, 5]
        for where, offset in ((WHERE, 6), (TopicPartition("t", 1), 0)):
            with pytest.raises(Problem):
                listener.pump.acknowledge(where, offset)


_SIZE = len(build_batch([NewRecord(value=b"1", timestamp=0)] * 10)) - 61


async def _takes_one_after_the_other() -> None:
    feed = Endless()
    listener = Taking(feed)
    async with listener.running():
        await trio.testing.wait_all_tasks_blocked()
        assert len(feed.asked) == 1
        listener.take(9)
        await trio.testing.wait_all_tasks_blocked()
        assert (len(feed.asked), len(listener.heard)) == (1, 9)
        listener.take(2)
        await trio.testing.wait_all_tasks_blocked()
        assert (len(feed.asked), listener.heard[-1]) == (2, 10)


async def _takes_windows(clock: trio.testing.MockClock) -> None:
    feed = Endless()
    listener = Taking(feed, window=3)
    listener.take(100)
    async with listener.running():
        await _a_minute(clock)
        assert (listener.heard, len(feed.asked)) == ([0, 1, 2], 1)
        listener.pump.acknowledge(WHERE, 1)
        await _a_minute(clock)
        assert listener.heard == [0, 1, 2, 3, 4]
        with pytest.raises(Problem):
            listener.pump.acknowledge(WHERE, 5)


async def _a_minute(clock: trio.testing.MockClock) -> None:
    await trio.testing.wait_all_tasks_blocked()
    clock.jump(60)
    await trio.testing.wait_all_tasks_blocked()
