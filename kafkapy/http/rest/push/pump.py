"""Messages from a feed to one listener, as fast as it takes them, and its acknowledgements back.

    feed --> pump --> listener          one answer's worth at a time, the next when that is told
    commit <-- pump <-- acknowledgements

At most `window` messages are told and not acknowledged; without a window the listener's socket is
what holds it up. An acknowledgement is of all of its partition up to its offset. What of an answer
(256 KiB, or a batch that is larger) a listener has not taken is kept packed, and only while all
streams together keep little (held.py). So a slow listener costs the node a piece of 32 KiB, a
connection, and a place in its group until its session ends.
"""

import heapq
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

import trio

from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.unread import ANY, Unread
from kafkapy.http.problems import Problem
from kafkapy.http.rest.push.feeds import Feed, Some
from kafkapy.http.rest.push.held import Held
from kafkapy.http.rest.push.members import Member
from kafkapy.http.rest.schemas import Schemas

# How long an acknowledgement is waited for before it is time to beat again, maybe.
_PATIENCE_SECONDS: Final = 0.5
_QUIET_SECONDS: Final = 10.0
# Told at once; of records, before they are JSON.
_PIECE_BYTES: Final = 32 << 10


class Listener(Protocol):
    async def tell(self, kind: str, said: dict[str, Any]) -> None:
        """`kind`: member, committed, quiet."""

    def packed(self, message: dict[str, Any]) -> bytes:
        """As it is told."""

    async def tell_packed(self, messages: list[bytes]) -> None:
        """Some, in order."""


class Stream(NamedTuple):
    """One that was let in: `make` is given the Kafka that is its own, and `gone` is called when it
    has ended, whether or not anything was told."""

    make: "Callable[[Kafka, Listener], Pump]"
    gone: Callable[[], None]


class Pump:
    """`is_automatic`: what the socket has taken is committed."""

    def __init__(
        self,
        feed: Feed,
        schemas: Schemas,
        listener: Listener,
        held: Held,
        *,
        reading: str,
        window: int,
        is_automatic: bool = False,
    ) -> None:
        self._feed = feed
        self._schemas = schemas
        self._listener = listener
        self._held = held
        self._reading = reading
        self._window = window
        self._is_automatic = is_automatic
        self._unacknowledged: dict[TopicPartition, list[int]] = {}
        self._count = 0
        self._to_commit: dict[TopicPartition, int] = {}
        self._told_upto: dict[TopicPartition, int] = {}
        self._last_told = 0.0
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
        """Everything of that partition up to that offset; Problem for what was never told. What is
        done already, or was taken away in between, may be acknowledged again: nothing happens."""
        if offset > self._told_upto.get(where, -1):
            raise Problem(400, f"{where.topic}-{where.partition} {offset}: it was never told")
        waiting = self._unacknowledged.get(where, [])
        while waiting and waiting[0] <= offset:
            done = heapq.heappop(waiting)
            self._count -= 1
            self._to_commit[where] = done + 1
        self._wake()

    async def _pump(self) -> None:
        self._last_told = trio.current_time()
        while True:
            await self._keep()
            await self._tell_each(await self._feed.next())
            if self._is_automatic and isinstance(self._feed, Member):
                await self._commit(self._feed)
            if trio.current_time() - self._last_told > _QUIET_SECONDS:
                await self._listener.tell("quiet", {})
                self._last_told = trio.current_time()

    async def _tell_each(self, several: list[Some]) -> None:
        for some in several:
            self._held.keep(some.unread)
        try:
            for some in several:
                await self._tell_all(some)
        finally:
            for some in several:
                self._held.drop(some.unread)

    async def _tell_all(self, some: Some) -> None:
        """Until its end; or until what it is told from was let go, or is somebody else's."""
        where, unread = some
        while not unread.is_done:
            room, since = await self._room(), unread.next_offset
            offsets, packed = await self._taken(where, unread, room)
            if not self._feed.went(where, since, unread.next_offset):
                return
            self._held.keep(unread)
            if offsets:
                self._expect(where, offsets)
                await self._listener.tell_packed(packed)
                self._told(where, offsets[-1])
                self._last_told = trio.current_time()

    async def _taken(
        self, where: TopicPartition, unread: Unread, most: int
    ) -> tuple[list[int], list[bytes]]:
        """Offsets, and what is told: while a listener takes nothing, that alone is kept."""
        records = unread.take(most, _PIECE_BYTES)
        named = where._asdict()
        shown = self._schemas.shown(self._feed.kafka, records, self._reading)
        packed = [self._listener.packed({**named, **message}) async for message in shown]
        return [one.offset for one in records], packed

    async def _room(self) -> int:
        """How many may be told: once less than a window waits for acknowledgement."""
        await self._keep()
        while self._window and self._count >= self._window:
            with trio.move_on_after(_PATIENCE_SECONDS):
                await self._acknowledged.wait()
            await self._keep()
        return self._window - self._count if self._window else ANY

    async def _keep(self) -> None:
        if isinstance(self._feed, Member) and await self._feed.keep():
            for gone in self._unacknowledged.keys() - self._feed.positions.keys():
                self._count -= len(self._unacknowledged.pop(gone))
            told = [where._asdict() for where in sorted(self._feed.positions)]
            member = {"memberId": self._feed.id, "memberEpoch": self._feed.epoch}
            await self._listener.tell("member", {**member, "partitions": told})

    def _expect(self, where: TopicPartition, offsets: list[int]) -> None:
        self._told_upto[where] = max(offsets[-1], self._told_upto.get(where, -1))
        if self._window and not self._is_automatic:
            waiting = self._unacknowledged.setdefault(where, [])
            for offset in offsets:
                heapq.heappush(waiting, offset)
            self._count += len(offsets)

    def _told(self, where: TopicPartition, offset: int) -> None:
        if self._is_automatic:
            self._to_commit[where] = offset + 1

    async def _commit_what_comes(self, member: Member) -> None:
        """One commit at a time: what comes meanwhile goes together."""
        while True:
            if not self._to_commit:
                await self._acknowledged.wait()
            offsets = await self._commit(member)
            if offsets:
                told = [{**where._asdict(), "offset": one} for where, one in offsets.items()]
                await self._listener.tell("committed", {"offsets": told})
            elif self._to_commit:
                await trio.sleep(_PATIENCE_SECONDS)

    async def _commit(self, member: Member) -> dict[TopicPartition, int]:
        """What was. What is to be committed stays so until it is, or is somebody else's to do."""
        offsets = dict(self._to_commit)
        committed = await member.commit(offsets)
        for where, offset in offsets.items():
            is_over = where in committed or where not in member.positions
            if is_over and self._to_commit.get(where) == offset:
                del self._to_commit[where]
        return committed

    def _wake(self) -> None:
        before, self._acknowledged = self._acknowledged, trio.Event()
        before.set()
