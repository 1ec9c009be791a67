"""Messages from a feed to one listener, as fast as it takes them, and its acknowledgements back.

    feed --> pump --> listener          one answer's worth at a time, the next when that is told
    commit <-- pump <-- acknowledgements

At most `window` messages are told and not acknowledged; without a window the listener's socket is
what holds it up. An acknowledgement is of all of its partition up to its offset. So a slow listener
costs the node one answer (256 KiB, or a batch that is larger), a connection, and a place in its
group until its session ends.
"""

import heapq
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

import trio

from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.push.feeds import Feed
from kafkapy.http.rest.push.members import Member
from kafkapy.http.rest.schemas import Schemas

# How long an acknowledgement is waited for before it is time to beat again, maybe.
_PATIENCE_SECONDS: Final = 0.5
_QUIET_SECONDS: Final = 10.0

# Kind of what is told (message, member, committed, quiet), and what.
Tell = Callable[[str, dict[str, Any]], Awaitable[None]]


class Pump:
    """`is_automatic`: what the socket has taken is committed."""

    def __init__(
        self,
        feed: Feed,
        schemas: Schemas,
        tell: Tell,
        *,
        reading: str,
        window: int,
        is_automatic: bool = False,
    ) -> None:
        self._feed = feed
        self._schemas = schemas
        self._tell = tell
        self._reading = reading
        self._window = window
        self._is_automatic = is_automatic
        self._unacknowledged: dict[TopicPartition, list[int]] = {}
        self._count = 0
        self._to_commit: dict[TopicPartition, int] = {}
        self._acknowledged = trio.Event()

    async def run(self) -> None:
        """Until it is cancelled, or what it reads is gone: KafkaError."""
        member = self._feed if isinstance(self._feed, Member) else None
        if member is None:
            await self._pump()
            return
        try:
            async with trio.open_nursery() as nursery:
                if not self._is_automatic:
                    nursery.start_soon(self._commit_what_comes, member)
                await self._pump()
        finally:
            with trio.move_on_after(1, shield=True), suppress(KafkaError):
                await self._commit(member)
            await member.leave()

    def acknowledge(self, where: TopicPartition, offset: int) -> None:
        """Everything of that partition up to that offset; Problem for what was never told."""
        waiting = self._unacknowledged.get(where)
        if not waiting or waiting[0] > offset:
            if where not in self._feed.positions:
                return  # taken away in between: it is somebody else's
            raise Problem(400, f"{where.topic}-{where.partition} {offset}: nothing waits there")
        while waiting and waiting[0] <= offset:
            done = heapq.heappop(waiting)
            self._count -= 1
            self._to_commit[where] = done + 1
        self._wake()

    async def _pump(self) -> None:
        last_told = trio.current_time()
        while True:
            await self._keep()
            for where, records in await self._feed.next():
                async with aclosing(self._schemas.shown(records, self._reading)) as messages:
                    async for message in messages:
                        await self._room()
                        if where in self._feed.positions:  # else it was taken away meanwhile
                            self._expect(where, message["offset"])
                            await self._tell("message", {**where._asdict(), **message})
                            self._told(where, message["offset"])
                            last_told = trio.current_time()
            if self._is_automatic and isinstance(self._feed, Member):
                await self._commit(self._feed)
            if trio.current_time() - last_told > _QUIET_SECONDS:
                await self._tell("quiet", {})
                last_told = trio.current_time()

    async def _room(self) -> None:
        """Until less than a window waits for acknowledgement."""
        await self._keep()
        while self._window and self._count >= self._window:
            with trio.move_on_after(_PATIENCE_SECONDS):
                await self._acknowledged.wait()
            await self._keep()

    async def _keep(self) -> None:
        if isinstance(self._feed, Member) and await self._feed.keep():
            for gone in self._unacknowledged.keys() - self._feed.positions.keys():
                self._count -= len(self._unacknowledged.pop(gone))
            told = [where._asdict() for where in sorted(self._feed.positions)]
            member = {"memberId": self._feed.id, "memberEpoch": self._feed.epoch}
            await self._tell("member", {**member, "partitions": told})

    def _expect(self, where: TopicPartition, offset: int) -> None:
        if self._window and not self._is_automatic:
            heapq.heappush(self._unacknowledged.setdefault(where, []), offset)
            self._count += 1

    def _told(self, where: TopicPartition, offset: int) -> None:
        if self._is_automatic:
            self._to_commit[where] = offset + 1

    async def _commit_what_comes(self, member: Member) -> None:
        """One commit at a time: what comes meanwhile goes together."""
        while True:
            if not self._to_commit:
                await self._acknowledged.wait()
            offsets = await self._commit(member)
            told = [{**where._asdict(), "offset": one} for where, one in offsets.items()]
            await self._tell("committed", {"offsets": told})

    async def _commit(self, member: Member) -> dict[TopicPartition, int]:
        """What is to be committed stays so until it is."""
        offsets = dict(self._to_commit)
        await member.commit(offsets)
        for where, offset in offsets.items():
            if self._to_commit.get(where) == offset:
                del self._to_commit[where]
        return offsets

    def _wake(self) -> None:
        before, self._acknowledged = self._acknowledged, trio.Event()
        before.set()
