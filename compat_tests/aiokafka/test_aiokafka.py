"""Records, groups, transactions and topics through aiokafka."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import (
    InvalidTimestampError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
    ProducerFenced,
)

from compat_tests.behaviours import covers

HOUR_MS = 3_600_000
PATIENCE_S = 30.0


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


@asynccontextmanager
async def producer(broker: str, **settings: Any) -> AsyncIterator[Any]:
    client = AIOKafkaProducer(bootstrap_servers=broker, **settings)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def consumer(broker: str, *topics: str, **settings: Any) -> AsyncIterator[Any]:
    settings = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 100, **settings}
    client = AIOKafkaConsumer(*topics, bootstrap_servers=broker, **settings)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def admin(broker: str) -> AsyncIterator[Any]:
    client = AIOKafkaAdminClient(bootstrap_servers=broker)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


async def create(
    broker: str, topic: str, *, partitions: int = 1, configs: dict[str, str] | None = None
) -> None:
    async with admin(broker) as client:
        await client.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs or {})])
        async with asyncio.timeout(PATIENCE_S):
            while not await is_led(client, topic, partitions):
                await asyncio.sleep(0.02)


async def is_led(client: Any, topic: str, partitions: int) -> bool:
    (found,) = await client.describe_topics([topic])
    leaders = [partition["leader"] for partition in found["partitions"]]
    return len(leaders) == partitions and -1 not in leaders


async def write(broker: str, topic: str, values: list[bytes], **settings: Any) -> None:
    async with producer(broker, **settings) as client:
        futures = [await client.send(topic, value, partition=0) for value in values]
        await asyncio.gather(*futures)


async def polled(client: Any, count: int) -> list[Any]:
    got: list[Any] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(got) < count:
            got.append(await client.getone())
    return got


async def read(broker: str, topic: str, count: int, offset: int = 0, **settings: Any) -> list[Any]:
    async with consumer(broker, **settings) as client:
        partition = TopicPartition(topic, 0)
        client.assign([partition])
        client.seek(partition, offset)
        return await polled(client, count)


@covers("produce-codecs")
@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_come_back_as_they_went_in(
    broker: str, topic: str, codec: str | None
) -> None:
    async def test() -> None:
        await create(broker, topic)
        values = [b"%d " % i + b"compress me " * (i % 50) for i in range(300)]
        await write(broker, topic, values, compression_type=codec, linger_ms=20)
        got = await read(broker, topic, 300)
        assert [record.value for record in got] == values

    run(test())


@covers("headers", "null-key-value")
def test_headers_and_nulls_survive(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        headers = [("b", b"1"), ("a", b""), ("b", b"2")]
        async with producer(broker) as client:
            await client.send_and_wait(topic, b"v", headers=headers)
            await client.send_and_wait(topic, None, key=b"k")
        first, second = await read(broker, topic, 2)
        assert list(first.headers) == headers
        assert (first.key, first.value) == (None, b"v")
        assert (second.key, second.value) == (b"k", None)

    run(test())


@covers("acks", "ordering")
@pytest.mark.parametrize("acks", [0, 1])
def test_records_keep_their_order_at_every_setting_of_acks(
    broker: str, topic: str, acks: int
) -> None:
    written_and_read(broker, topic, {"acks": acks})


@covers("idempotence", "ordering")
def test_an_idempotent_producer_keeps_the_order(broker: str, topic: str) -> None:
    written_and_read(broker, topic, {"enable_idempotence": True})


def written_and_read(broker: str, topic: str, settings: dict[str, Any]) -> None:
    async def test() -> None:
        await create(broker, topic)
        values = [b"%d" % i for i in range(500)]
        await write(broker, topic, values, **settings)
        assert [record.value for record in await read(broker, topic, 500)] == values

    run(test())


@covers("large-records", "too-large-refused")
def test_a_record_over_the_limit_is_refused_and_the_next_is_not(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic, configs={"max.message.bytes": "100000"})
        async with producer(broker, max_request_size=5_000_000) as client:
            with pytest.raises(MessageSizeTooLargeError):
                await client.send_and_wait(topic, b"x" * 200_000)
            assert (await client.send_and_wait(topic, b"y" * 90_000)).offset == 0

    run(test())


@covers("invalid-timestamp")
def test_a_timestamp_too_far_ahead_is_refused(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        ahead = int(time.time() * 1000) + 2 * HOUR_MS
        async with producer(broker) as client:
            with pytest.raises(InvalidTimestampError):
                await client.send_and_wait(topic, b"v", timestamp_ms=ahead)

    run(test())


@covers("append-time")
def test_log_append_time_is_told_to_producer_and_consumer(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic, configs={"message.timestamp.type": "LogAppendTime"})
        before = int(time.time() * 1000)
        async with producer(broker) as client:
            metadata = await client.send_and_wait(topic, b"v", timestamp_ms=1000)
        (record,) = await read(broker, topic, 1)
        assert before <= metadata.timestamp == record.timestamp
        assert metadata.timestamp_type == record.timestamp_type == 1

    run(test())


@covers("seek", "assignment", "special-timestamps", "offsets-by-time", "create-time")
def test_seek_and_offsets_by_time(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        start = int(time.time() * 1000) - HOUR_MS
        async with producer(broker) as client:
            for i in range(10):
                await client.send_and_wait(topic, b"%d" % i, timestamp_ms=start + 1000 * i)
        partition = TopicPartition(topic, 0)
        async with consumer(broker) as client:
            client.assign([partition])
            assert await client.beginning_offsets([partition]) == {partition: 0}
            assert await client.end_offsets([partition]) == {partition: 10}
            found = await client.offsets_for_times({partition: start + 3500})
            assert (found[partition].offset, found[partition].timestamp) == (4, start + 4000)
            client.seek(partition, 8)
            assert [record.offset for record in await polled(client, 2)] == [8, 9]
            await client.seek_to_beginning(partition)
            assert (await polled(client, 1))[0].timestamp == start

    run(test())


@covers("mid-batch", "out-of-range")
def test_fetches_from_the_middle_of_a_batch_and_beyond_the_end(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        values = [b"%d" % i for i in range(200)]
        await write(broker, topic, values, linger_ms=200, compression_type="lz4")
        got = await read(broker, topic, 50, offset=150)
        assert [record.value for record in got] == values[150:]
        with pytest.raises(OffsetOutOfRangeError):
            await read(broker, topic, 1, offset=999, auto_offset_reset="none")

    run(test())


@covers("auto-create", "unknown-topic")
def test_producing_to_an_unknown_topic_creates_it(broker: str, topic: str) -> None:
    async def test() -> None:
        await write(broker, topic, [b"v"])
        assert (await read(broker, topic, 1))[0].value == b"v"

    run(test())


@covers("create-topic", "delete-topic", "create-partitions", "list-topics", "describe-cluster")
def test_the_life_of_a_topic(broker: str, nodes: int, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        async with admin(broker) as client:
            assert topic in await client.list_topics()
            await client.create_partitions({topic: NewPartitions(3)})
            async with asyncio.timeout(PATIENCE_S):
                while not await is_led(client, topic, 3):
                    await asyncio.sleep(0.02)
            cluster = await client.describe_cluster()
            assert len(cluster["brokers"]) >= nodes
            await client.delete_topics([topic])
            async with asyncio.timeout(PATIENCE_S):
                while topic in await client.list_topics():
                    await asyncio.sleep(0.02)

    run(test())


@covers("subscribe", "commit")
def test_a_group_goes_on_from_its_commit(broker: str, topic: str, group: str) -> None:
    async def test() -> None:
        await create(broker, topic, partitions=2)
        await write(broker, topic, [b"1", b"2"])
        settings = {"group_id": group, "enable_auto_commit": False}
        async with consumer(broker, topic, **settings) as client:
            assert [record.value for record in await polled(client, 2)] == [b"1", b"2"]
            await client.commit()
            assert await client.committed(TopicPartition(topic, 0)) == 2
        await write(broker, topic, [b"3"])
        async with consumer(broker, topic, **settings) as client:
            assert [record.value for record in await polled(client, 1)] == [b"3"]

    run(test())


@covers("rebalance-join", "rebalance-leave")
def test_members_share_partitions_as_they_come_and_go(broker: str, topic: str, group: str) -> None:
    settings = {"group_id": group, "session_timeout_ms": 6000, "heartbeat_interval_ms": 200}

    async def settled(*members: Any) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while sorted(len(client.assignment()) for client in members) != (
                [4] if len(members) == 1 else [2, 2]
            ):
                await asyncio.sleep(0.05)

    async def test() -> None:
        await create(broker, topic, partitions=4)
        async with consumer(broker, topic, **settings) as first:
            await settled(first)
            async with consumer(broker, topic, **settings) as second:
                await settled(first, second)
            await settled(first)

    run(test())


@covers("txn-commit", "txn-abort", "txn-isolation", "txn-fencing")
def test_transactions_commit_abort_and_fence(broker: str, topic: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        transactional_id = f"txn-{uuid.uuid4().hex[:8]}"
        async with producer(broker, transactional_id=transactional_id) as client:
            for value, commits in [(b"1", True), (b"2", False), (b"3", True)]:
                await client.begin_transaction()
                await client.send_and_wait(topic, value, partition=0)
                if commits:
                    await client.commit_transaction()
                else:
                    await client.abort_transaction()
            async with producer(broker, transactional_id=transactional_id):
                await client.begin_transaction()
                with pytest.raises(ProducerFenced):
                    await client.send_and_wait(topic, b"zombie", partition=0)
        got = await read(broker, topic, 2, isolation_level="read_committed")
        assert [record.value for record in got] == [b"1", b"3"]
        got = await read(broker, topic, 3)
        assert [record.value for record in got] == [b"1", b"2", b"3"]

    run(test())


@covers("txn-offsets", "txn-exactly-once")
def test_offsets_are_committed_with_the_transaction(broker: str, topic: str, group: str) -> None:
    async def test() -> None:
        await create(broker, topic)
        partition = TopicPartition(topic, 0)
        transactional_id = f"txn-{uuid.uuid4().hex[:8]}"
        async with (
            consumer(broker, topic, group_id=group, enable_auto_commit=False) as source,
            producer(broker, transactional_id=transactional_id) as client,
        ):
            async with client.transaction():
                await client.send_and_wait(topic, b"v", partition=0)
                await client.send_offsets_to_transaction({partition: 5}, group)
            # This client does not ask for stable offsets, and the answer to EndTxn comes
            # before the markers are written.
            async with asyncio.timeout(PATIENCE_S):
                while await source.committed(partition) != 5:
                    await asyncio.sleep(0.02)

    run(test())
