"""What groups have committed, beside where the logs end."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import trio

from kafkapy.core.ids import TopicPartition
from kafkapy.http.console.seeing import offsets
from kafkapy.http.kafka import groups, records, shares
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.records import END
from kafkapy.kraft.acls import Operation, ResourceType

_AT_ONCE: Final = 8
# Partitions whose oldest unread record is looked at for one page: those that are most behind.
_MOST_AGES: Final = 20


class Lag(NamedTuple):
    """`end` and `lag` are None where nobody could be asked."""

    committed: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


async def ends_of(
    kafka: Kafka, wanted: Iterable[TopicPartition], when: int = END
) -> dict[TopicPartition, int]:
    """Of those that are there, led, and the principal's to see."""
    by_topic: dict[str, set[int]] = {}
    for topic, partition in wanted:
        if topic in kafka.image.topics_by_name:
            by_topic.setdefault(topic, set()).add(partition)
    seen = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, sorted(by_topic))
    found = {}
    for topic in sorted(seen):
        for partition, offset in (await offsets(kafka, topic, by_topic[topic], when)).items():
            found[TopicPartition(topic, partition)] = offset
    return found


async def lag_of(
    kafka: Kafka, committed: Mapping[TopicPartition, int], owned: Iterable[TopicPartition] = ()
) -> dict[TopicPartition, Lag]:
    """Of what was committed, and of what members own without having committed."""
    wanted = sorted({*committed, *owned})
    ends = await ends_of(kafka, wanted)
    return {one: Lag(committed.get(one), ends.get(one)) for one in wanted}


async def ages_of(
    kafka: Kafka, lags: Mapping[TopicPartition, Lag], wall_ms: int
) -> dict[TopicPartition, int]:
    """Milliseconds since the oldest record that is not read was written, for who may read it."""
    behind = [one for one, lag in lags.items() if lag.lag]
    topics = sorted({one.topic for one in behind})
    seen = await kafka.allowed(Operation.READ, ResourceType.TOPIC, topics)
    behind = [one for one in behind if one.topic in seen]
    behind.sort(key=lambda one: lags[one].lag or 0, reverse=True)
    found: dict[TopicPartition, int] = {}
    limit = trio.CapacityLimiter(_AT_ONCE)

    async def one_of(where: TopicPartition) -> None:
        committed = lags[where].committed
        assert committed is not None, "what has a lag has a committed offset"
        async with limit:
            try:
                got = await records.fetch(kafka, *where, committed, max_bytes=1, committed=False)
            except KafkaError:
                return  # its page says what is wrong with it
        first = next((one for one in got.records if one.offset >= committed), None)
        if first is not None and first.timestamp >= 0:
            found[where] = max(0, wall_ms - first.timestamp)

    async with trio.open_nursery() as nursery:
        for where in behind[:_MOST_AGES]:
            nursery.start_soon(one_of, where)
    return found


async def total_lags(
    kafka: Kafka, names: Iterable[str], share_names: Iterable[str] = ()
) -> dict[str, int | None]:
    """Of several groups; None for those that do not tell."""
    found: dict[str, dict[TopicPartition, int] | None] = {}
    of_shares: dict[str, int | None] = {}
    limit = trio.CapacityLimiter(_AT_ONCE)

    async def one(name: str) -> None:
        async with limit:
            try:
                found[name] = await groups.committed(kafka, name)
            except KafkaError:
                found[name] = None

    async def one_share(name: str) -> None:
        async with limit:
            try:
                places = (await shares.places(kafka, name)).values()
            except KafkaError:
                of_shares[name] = None
            else:
                of_shares[name] = sum(one.lag or 0 for one in places)

    async with trio.open_nursery() as nursery:
        for name in names:
            nursery.start_soon(one, name)
        for name in share_names:
            nursery.start_soon(one_share, name)
    ends = await ends_of(kafka, {each for some in found.values() if some for each in some})
    return of_shares | {
        name: None
        if some is None
        else sum(max(0, ends[where] - offset) for where, offset in some.items() if where in ends)
        for name, some in found.items()
    }


async def lags_of_any(kafka: Kafka, names: Iterable[str]) -> dict[str, int | None]:
    """The same of groups of either kind."""
    listed = {one.name for one in await groups.list_groups(kafka) if one.type == shares.SHARE}
    wanted = set(names)
    return await total_lags(kafka, wanted - listed, wanted & listed)
