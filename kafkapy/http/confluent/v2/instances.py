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

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Journal
from kafkapy.http.confluent.errors import Code, Refusal
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.unread import size_of
from kafkapy.http.rest.push.feeds import Feed, Some
from kafkapy.http.rest.push.members import Member, member_id_of
from kafkapy.protocol.batches.records import Record

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


class Taken(NamedTuple):
    where: TopicPartition
    records: list[Record]


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
        self.kafka = kafka

    # --- what is read ---

    async def subscribe(self, topics: Collection[str]) -> None:
        if self.feed is not None and not isinstance(self.feed, Member):
            raise Refusal(Code.ILLEGAL_STATE, "it has assigned itself partitions")
        await self.let_go()
        self.topics = sorted(topics)
        if topics:
            member = Member(
                self.kafka, self.key.group, topics, member_id_of(self.kafka), self.wanted.start
            )
            await member.keep()
            self.feed = member

    async def assign(self, partitions: Collection[TopicPartition]) -> None:
        if isinstance(self.feed, Member):
            raise Refusal(Code.ILLEGAL_STATE, "it has subscribed to topics")
        known = await self.committed(partitions)
        for where in set(partitions) - known.keys():
            ends = await records.list_offsets(
                self.kafka, where.topic, {where.partition: self.wanted.start}, committed=True
            )
            known[where] = ends[where.partition]
        self.feed = Feed(self.kafka, known)

    def seek(self, offsets: dict[TopicPartition, int]) -> None:
        for where in offsets:
            if self.feed is None or where not in self.feed.positions:
                told = f"{where.topic}-{where.partition} is not its to read"
                raise Refusal(Code.ILLEGAL_STATE, told)
        assert self.feed is not None or not offsets, "what is sought is read"
        if self.feed is not None:
            self.feed.positions.update(offsets)
            self.delivered.update(offsets)

    async def some(self, seconds: float, most_bytes: int) -> list[Taken]:
        """What is there, or comes within so long; what was handed out before is done."""
        if self.feed is None:
            raise Refusal(Code.ILLEGAL_STATE, "it has neither subscribed nor assigned anything")
        if self.wanted.is_automatic:
            await self.commit(None)
        with trio.move_on_after(seconds):
            while True:
                if isinstance(self.feed, Member):
                    await self.feed.keep()
                found = self._within(self.feed, await self.feed.next(), most_bytes)
                if found:
                    return found
        return []

    def _within(self, feed: Feed, several: list[Some], most_bytes: int) -> list[Taken]:
        """At least one record; the others are read again. KafkaError if there is none for what
        cannot be read: what was taken of other partitions has been read, and is handed out."""
        kept: list[Taken] = []
        left, failed = most_bytes, None
        for where, unread in several:
            since = unread.next_offset
            try:
                at_once = unread.take(most_bytes=max(left, 1))
            except KafkaError as corrupt:
                failed = corrupt
                continue
            upto = unread.next_offset
            left -= sum(map(size_of, at_once))
            if left < 0 and (kept or len(at_once) > 1):
                upto = at_once.pop().offset
            if feed.went(where, since, upto) and at_once:
                kept.append(Taken(where, at_once))
                self.delivered[where] = upto
        if failed is not None and not kept:
            raise failed
        return kept

    # --- what is done ---

    async def commit(self, offsets: dict[TopicPartition, int] | None) -> None:
        """The next offsets to be read; None: of all that was handed out."""
        wanted = dict(self.delivered) if offsets is None else offsets
        if not wanted:
            return
        done = wanted
        if isinstance(self.feed, Member):
            done = await self.feed.commit(wanted)
        else:
            await groups.commit(self.kafka, self.key.group, wanted)
        if offsets is None:
            # What is not its own any more is its next owner's to read again.
            owned = () if self.feed is None else self.feed.positions
            self.delivered = {
                where: at
                for where, at in self.delivered.items()
                if wanted.get(where) != at or (where in owned and where not in done)
            }
        elif len(done) < len(wanted):
            topic, partition = min(wanted.keys() - done.keys())
            raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH, f"{topic}-{partition}")

    async def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        found = await groups.committed(self.kafka, self.key.group)
        return {where: found[where] for where in partitions if where in found}

    async def ends(self, partitions: Collection[TopicPartition], when: int) -> None:
        offsets = {}
        for where in partitions:
            listed = await records.list_offsets(
                self.kafka, where.topic, {where.partition: when}, committed=True
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
            await self.kafka.__aexit__(None, None, None)


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
