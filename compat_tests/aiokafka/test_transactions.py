"""Transactions through aiokafka, the explicit way: timeouts, fifty partitions, copies."""

import asyncio
import uuid
from collections import defaultdict
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from compat_tests.aiokafka.test_aiokafka import consumer, create, producer, read, run
from compat_tests.behaviours import covers

COMMITTED: dict[str, Any] = {"isolation_level": "read_committed"}


@pytest.fixture
def transactional_id() -> str:
    return f"txn-{uuid.uuid4().hex[:8]}"


@covers("txn-timeout")
def test_a_transaction_that_outlives_its_timeout_is_aborted(
    broker: str, topic: str, transactional_id: str
) -> None:
    async def test() -> None:
        await create(broker, topic)
        settings = {"transactional_id": transactional_id, "transaction_timeout_ms": 1000}
        async with producer(broker, **settings) as client, producer(broker) as plain:
            await client.begin_transaction()
            await client.send_and_wait(topic, b"too slow", partition=0)
            await plain.send_and_wait(topic, b"plain", partition=0)
            (record,) = await read(broker, topic, 1, **COMMITTED)
            assert record.value == b"plain"
            with pytest.raises(KafkaError):
                await client.commit_transaction()

    run(test())


@covers("txn-commit", "txn-abort", "txn-isolation", "many-partitions")
def test_transactions_over_fifty_partitions_are_read_whole_and_in_order(
    broker: str, topic: str, transactional_id: str
) -> None:
    """Six transactions of two records a partition, every third of them aborted."""

    async def test() -> None:
        await create(broker, topic, partitions=50)
        async with producer(broker, transactional_id=transactional_id) as client:
            for turn in range(6):
                await client.begin_transaction()
                sent = [
                    await client.send(topic, b"%d" % turn, partition=i % 50) for i in range(100)
                ]
                await asyncio.gather(*sent)
                if turn % 3 == 2:
                    await client.abort_transaction()
                else:
                    await client.commit_transaction()
        for settings, expected in [(COMMITTED, b"00113344"), ({}, b"001122334455")]:
            found: dict[int, bytes] = defaultdict(bytes)
            async with consumer(broker, topic, **settings) as reader:
                for _ in range(50 * len(expected)):
                    record = await reader.getone()
                    found[record.partition] += record.value
            assert dict(found) == dict.fromkeys(range(50), expected)

    run(test())


@covers("txn-offsets", "txn-exactly-once", "txn-abort")
def test_a_copy_with_aborts_and_a_restart_copies_each_record_once(
    broker: str, topic: str, group: str, transactional_id: str
) -> None:
    async def copy(turns: int) -> None:
        """Every third transaction is aborted, its inputs are read again; the last is left
        open, as by a crash."""
        where = TopicPartition(topic, 0)
        async with (
            consumer(broker, group_id=group, enable_auto_commit=False, **COMMITTED) as source,
            producer(broker, transactional_id=transactional_id) as client,
        ):
            source.assign([where])
            for turn in range(turns + 1):
                at = await source.committed(where) or 0
                source.seek(where, at)
                await client.begin_transaction()
                for _ in range(5):
                    record = await source.getone()
                    await client.send(f"{topic}-out", record.value, partition=0)
                await client.send_offsets_to_transaction({where: at + 5}, group)
                if turn == turns:
                    await client.flush()
                    return
                if turn % 3 == 2:
                    await client.abort_transaction()
                else:
                    await client.commit_transaction()
                    await committed(source, where, at + 5)

    async def committed(source: object, where: TopicPartition, offset: int) -> None:
        """This client does not ask for stable offsets, and the answer to EndTxn comes before
        the markers are written."""
        while await source.committed(where) != offset:  # type: ignore[attr-defined]  # aiokafka has no types
            await asyncio.sleep(0.02)

    async def test() -> None:
        await create(broker, topic)
        await create(broker, f"{topic}-out")
        async with producer(broker) as plain:
            for i in range(60):
                await plain.send(topic, b"%d" % i, partition=0)
        await copy(6)
        await copy(6)
        got = await read(broker, f"{topic}-out", 40, **COMMITTED)
        assert [record.value for record in got] == [b"%d" % i for i in range(40)]

    run(test())
