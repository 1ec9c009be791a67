"""Consumers of v2: they live on this node from one request to the next.

    made      by name, in a group, for whoever asks; nobody else finds it
    reads     what it subscribed to as a member of its group (KIP-848), or what it assigned itself
    beats     by itself, once a second as far as it is due: between requests, too (`sweep`)
    ends      deleted, or when nobody has asked it anything for five minutes

One request at a time; others wait. What is cut off while it fetches is fetched again.
"""

from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Final, NamedTuple

import trio

from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Journal
from kafkapy.http.confluent.errors import Code, Refusal
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.push.feeds import Feed, Some
from kafkapy.http.rest.push.members import Member, member_id_of

MOST_INSTANCES: Final = 1000
IDLE_SECONDS: Final = 300.0
_SWEEP_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 2.0


class Key(NamedTuple):
    principal: str
    group: str
    name: str


class Wanted(NamedTuple):
    """What a consumer is asked to be."""

    form: str
    start: int  # records.START or END, where nothing is committed
    is_automatic: bool
    timeout_ms: int


class Instance:
    """Used within `lock` only."""

    def __init__(self, kafka: Kafka, key: Key, wanted: Wanted) -> None:
        self.key = key
        self.wanted = wanted
        self.lock = trio.Lock()
        self.topics: list[str] = []
        self.feed: Feed | None = None
        self.delivered: dict[TopicPartition, int] = {}
        self.used_at = trio.current_time()
        self._kafka = kafka

    # --- what is read ---

    async def subscribe(self, topics: Collection[str]) -> None:
        if self.feed is not None and not isinstance(self.feed, Member):
            raise Refusal(Code.ILLEGAL_STATE, "it has assigned itself partitions")
        await self.let_go()
        self.topics = sorted(topics)
        if topics:
            member = Member(
                self._kafka, self.key.group, topics, member_id_of(self._kafka), self.wanted.start
            )
            await member.keep()
            self.feed = member

    async def assign(self, partitions: Collection[TopicPartition]) -> None:
        if isinstance(self.feed, Member):
            raise Refusal(Code.ILLEGAL_STATE, "it has subscribed to topics")
        known = await self.committed(partitions)
        for where in set(partitions) - known.keys():
            ends = await records.list_offsets(
                self._kafka, where.topic, {where.partition: self.wanted.start}, committed=True
            )
            known[where] = ends[where.partition]
        self.feed = Feed(self._kafka, known)

    def seek(self, offsets: dict[TopicPartition, int]) -> None:
        for where in offsets:
            if self.feed is None or where not in self.feed.positions:
                told = f"{where.topic}-{where.partition} is not its to read"
                raise Refusal(Code.ILLEGAL_STATE, told)
        assert self.feed is not None or not offsets, "what is sought is read"
        if self.feed is not None:
            self.feed.positions.update(offsets)
            self.delivered.update(offsets)

    async def some(self, seconds: float, most_bytes: int) -> list[Some]:
        """What is there, or comes within so long; what was handed out before is done."""
        if self.feed is None:
            raise Refusal(Code.ILLEGAL_STATE, "it has neither subscribed nor assigned anything")
        if self.wanted.is_automatic:
            await self.commit(None)
        before = dict(self.feed.positions)
        found: list[Some] = []
        with trio.move_on_after(seconds) as waited:
            while not found:
                if isinstance(self.feed, Member) and await self.feed.keep():
                    before = dict(self.feed.positions)
                found = await self.feed.next()
                if not found:
                    before = dict(self.feed.positions)
        if waited.cancelled_caught:
            # In the midst of it: what of it came was handed to nobody.
            self.feed.positions.update(
                {where: at for where, at in before.items() if where in self.feed.positions}
            )
            return []
        return self._within(found, most_bytes)

    def _within(self, found: list[Some], most_bytes: int) -> list[Some]:
        """At least one record; the others are read again."""
        assert self.feed is not None, "it has read"
        kept: list[Some] = []
        size = 0
        for where, several in found:
            taken = 0
            for record in several:
                size += len(record.key or b"") + len(record.value or b"")
                if size > most_bytes and (kept or taken):
                    break
                taken += 1
            if taken:
                kept.append(Some(where, several[:taken]))
            if taken < len(several) and where in self.feed.positions:
                self.feed.positions[where] = several[taken].offset
        for where, _ in kept:
            if where in self.feed.positions:
                self.delivered[where] = self.feed.positions[where]
        return kept

    # --- what is done ---

    async def commit(self, offsets: dict[TopicPartition, int] | None) -> None:
        """The next offsets to be read; None: of all that was handed out."""
        wanted = dict(self.delivered) if offsets is None else offsets
        if not wanted:
            return
        if isinstance(self.feed, Member):
            await self.feed.commit(wanted)
        else:
            await groups.commit(self._kafka, self.key.group, wanted)
        if offsets is None:
            self.delivered = {
                where: at for where, at in self.delivered.items() if wanted.get(where) != at
            }

    async def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        found = await groups.committed(self._kafka, self.key.group)
        return {where: found[where] for where in partitions if where in found}

    async def ends(self, partitions: Collection[TopicPartition], when: int) -> None:
        offsets = {}
        for where in partitions:
            listed = await records.list_offsets(
                self._kafka, where.topic, {where.partition: when}, committed=True
            )
            offsets[where] = listed[where.partition]
        self.seek(offsets)

    async def let_go(self) -> None:
        feed, self.feed, self.topics = self.feed, None, []
        if isinstance(feed, Member):
            if self.wanted.is_automatic:
                with suppress(KafkaError):
                    await feed.commit(self.delivered)
            await feed.leave()
        self.delivered = {}

    async def close(self) -> None:
        try:
            with trio.move_on_after(_CLOSE_SECONDS):
                await self.let_go()
        finally:
            await self._kafka.__aexit__(None, None, None)


class Instances:
    """One per site."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[Key, Instance] = {}

    async def make(self, kafka: Kafka, key: Key, wanted: Wanted) -> Instance:
        if key in self._known:
            told = "Consumer with specified consumer ID already exists in the specified group."
            raise Refusal(Code.INSTANCE_EXISTS, told)
        if len(self._known) >= MOST_INSTANCES:
            raise Refusal(Code.TOO_MANY_INSTANCES, f"{MOST_INSTANCES} consumers live on this node")
        await kafka.__aenter__()
        made = self._known[key] = Instance(kafka, key, wanted)
        return made

    async def within(self, key: Key, work: "Callable[[Instance], Awaitable[None]]") -> None:
        """`work` on the one that is there."""
        found = self._known.get(key)
        if found is None:
            raise Refusal(Code.INSTANCE_NOT_FOUND, "Consumer instance not found.")
        async with found.lock:
            if self._known.get(key) is not found:
                raise Refusal(Code.INSTANCE_NOT_FOUND, "Consumer instance not found.")
            try:
                await work(found)
            finally:
                found.used_at = trio.current_time()

    async def remove(self, key: Key) -> None:
        async def end(found: Instance) -> None:
            del self._known[key]
            await found.close()

        await self.within(key, end)

    async def sweep(self) -> None:
        """Until it is cancelled: those that are idle end, the others beat."""
        try:
            while True:
                async with trio.open_nursery() as nursery:
                    for key, one in list(self._known.items()):
                        if not one.lock.locked():
                            nursery.start_soon(self._look_after, key, one)
                await trio.sleep(_SWEEP_SECONDS)
        finally:
            with trio.move_on_after(_CLOSE_SECONDS, shield=True):
                async with trio.open_nursery() as nursery:
                    for one in self._known.values():
                        nursery.start_soon(one.close)
            self._known.clear()

    async def _look_after(self, key: Key, one: Instance) -> None:
        with suppress(Refusal):
            if trio.current_time() - one.used_at > IDLE_SECONDS:
                self._journal.info("consumer over HTTP ends", group=key.group, reason="idle")
                await self.remove(key)
                return
        async with one.lock:
            # What is wrong is told to who asks next.
            with suppress(KafkaError):
                if isinstance(one.feed, Member):
                    await one.feed.keep()
