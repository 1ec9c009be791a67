"""What the log does with records, and what a fetch sees of it, through aiokafka."""

import asyncio
import time

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import NewPartitions
from aiokafka.errors import KafkaError

from compat_tests.aiokafka.test_aiokafka import (
    PATIENCE_S,
    admin,
    consumer,
    create,
    polled,
    producer,
    read,
    run,
    write,
)
from compat_tests.behaviours import covers


async def bounds(broker: str, topic: str) -> tuple[int, int]:
    """The first offset and the end of partition 0."""
    partition = TopicPartition(topic, 0)
    async with consumer(broker) as client:
        first = await client.beginning_offsets([partition])
        end = await client.end_offsets([partition])
        return first[partition], end[partition]


@covers("partitioning", "many-partitions")
def test_records_go_where_they_are_sent(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic, partitions=20)
        async with producer(broker) as client:
            for number in range(20):
                told = await client.send_and_wait(topic, b"%d" % number, partition=number)
                assert told.partition == number
            first = await client.send_and_wait(topic, b"v", key=b"the same key")
            second = await client.send_and_wait(topic, b"v", key=b"the same key")
            assert first.partition == second.partition
        async with consumer(broker) as client:
            client.assign([TopicPartition(topic, number) for number in range(20)])
            assert {record.partition for record in await polled(client, 22)} == set(range(20))

    run(test())


@covers("keyless-compacted")
def test_a_record_without_a_key_is_refused_by_a_compacted_topic(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic, configs={"cleanup.policy": "compact"})
        async with producer(broker) as client:
            with pytest.raises(KafkaError):
                await client.send_and_wait(topic, b"no key")
            await client.send_and_wait(topic, b"v", key=b"k")
        assert [record.value for record in await read(broker, topic, 1)] == [b"v"]

    run(test())


@covers("recompression")
def test_a_topic_recompresses_what_arrives(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic, configs={"compression.type": "lz4"})
        values = [b"compress me " * 100, b"and me " * 100]
        await write(broker, topic, values, compression_type="gzip", linger_ms=50)
        assert [record.value for record in await read(broker, topic, 2)] == values

    run(test())


@covers("fetch-limits")
def test_a_record_larger_than_the_fetch_size_comes_through(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        await write(broker, topic, [b"x" * 20_000] * 3)
        limits = {"fetch_max_bytes": 1000, "max_partition_fetch_bytes": 1000}
        assert len(await read(broker, topic, 3, **limits)) == 3

    run(test())


@covers("long-poll")
def test_a_waiting_fetch_wakes_for_the_next_record(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        async with consumer(broker, fetch_max_wait_ms=20_000) as client:
            client.assign([TopicPartition(topic, 0)])
            assert await client.getmany(timeout_ms=300) == {}
            await write(broker, topic, [b"late"])
            started = time.monotonic()
            assert (await polled(client, 1))[0].value == b"late"
            assert time.monotonic() - started < 15

    run(test())


@covers("retention")
def test_old_segments_go(broker: str, topic: str) -> None:
    async def test() -> None:
        configs = {"retention.bytes": "1000", "segment.bytes": "1048576"}
        await create(broker, topic, configs=configs)
        for _ in range(5):
            await write(broker, topic, [b"x" * 600_000])
        async with asyncio.timeout(PATIENCE_S):
            while await bounds(broker, topic) != (4, 5):
                await asyncio.sleep(0.1)

    run(test())


@covers("recreate-topic")
def test_a_topic_made_again_is_empty(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        await write(broker, topic, [b"old"] * 3)
        async with admin(broker) as client:
            await client.delete_topics([topic])
        await create(broker, topic)
        async with asyncio.timeout(PATIENCE_S):
            while await bounds(broker, topic) != (0, 0):
                await asyncio.sleep(0.1)
        await write(broker, topic, [b"new"])
        assert [record.value for record in await read(broker, topic, 1)] == [b"new"]

    run(test())


@covers("metadata-growth")
def test_a_consumer_notices_new_partitions(broker: str, topic: str, group: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        async with consumer(broker, topic, group_id=group, metadata_max_age_ms=300) as client:
            async with asyncio.timeout(PATIENCE_S):
                while len(client.assignment()) != 1:
                    await client.getmany(timeout_ms=100)
            async with admin(broker) as other:
                await other.create_partitions({topic: NewPartitions(total_count=3)})
            async with asyncio.timeout(PATIENCE_S):
                while len(client.assignment()) != 3:
                    await client.getmany(timeout_ms=100)

    run(test())
