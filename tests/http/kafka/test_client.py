"""Kafka as pages see it: one node of its own, and a cluster whichever node is asked."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker, Cluster
from tests.http.pages import HTTP, with_kafka

RECORDS = [NewRecord(b"k", b"one", 1000, (("h", b"x"),)), NewRecord(None, b"two", 2000)]


def test_what_is_produced_is_fetched(broker: Broker) -> None:
    broker.create_topic("there-and-back")

    async def work(kafka: Kafka) -> None:
        made = await records.produce(kafka, "there-and-back", 0, RECORDS)
        assert made.offset == 0
        found = await records.fetch(kafka, "there-and-back", 0, 0)
        assert [(one.key, one.value) for one in found.records] == [(b"k", b"one"), (None, b"two")]
        assert (found.next_offset, found.high_watermark) == (2, 2)
        rest = await records.fetch(kafka, "there-and-back", 0, 1)
        assert [one.offset for one in rest.records] == [1]

    with_kafka(broker, work)


def test_offsets_by_time_and_at_both_ends(broker: Broker) -> None:
    broker.create_topic("in-time", partitions=2)

    async def work(kafka: Kafka) -> None:
        await records.produce(kafka, "in-time", 1, RECORDS)
        listed = await records.list_offsets(kafka, "in-time", {0: records.END, 1: records.END})
        assert listed == {0: 0, 1: 2}
        assert await records.list_offsets(kafka, "in-time", {1: 1500}) == {1: 1}

    with_kafka(broker, work)


def test_a_group_commits_and_is_found(broker: Broker) -> None:
    broker.create_topic("read-by-group")
    where = TopicPartition("read-by-group", 0)

    async def work(kafka: Kafka) -> None:
        await groups.commit(kafka, "readers", {where: 1})
        assert await groups.committed(kafka, "readers") == {where: 1}
        assert "readers" in [one.name for one in await groups.list_groups(kafka)]
        await groups.delete(kafka, "readers")
        assert "readers" not in [one.name for one in await groups.list_groups(kafka)]

    with_kafka(broker, work)


def test_what_is_not_there_is_refused_with_kafkas_error(broker: Broker) -> None:
    async def work(kafka: Kafka) -> None:
        await records.produce(kafka, "nowhere", 0, RECORDS)

    with pytest.raises(KafkaError) as caught:
        with_kafka(broker, work)
    assert (caught.value.code, caught.value.status) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 404)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, settings=HTTP) as started:
        yield started


def test_any_node_of_a_cluster_can_be_asked(cluster: Cluster) -> None:
    """Twelve partitions have leaders on all nodes, and four groups coordinators."""
    cluster.create_topic("all-over", partitions=12)

    async def work(kafka: Kafka) -> None:
        for partition in range(12):
            await records.produce(kafka, "all-over", partition, RECORDS)
            assert len((await records.fetch(kafka, "all-over", partition, 0)).records) == 2
        for name in ("g1", "g2", "g3", "g4"):
            where = TopicPartition("all-over", 5)
            await groups.commit(kafka, name, {where: 2})
            assert await groups.committed(kafka, name) == {where: 2}
        assert {"g1", "g2", "g3", "g4"} <= {one.name for one in await groups.list_groups(kafka)}
        assert len(await kafka.ask_all(ApiKey.DESCRIBE_LOG_DIRS, {"topics": None})) == 3

    assert {cluster.leader("all-over", partition) for partition in range(12)} == {1, 2, 3}
    with_kafka(cluster.node(2), work)


def test_who_leads_what_it_has_not_heard_of_yet_is_asked_again(broker: Broker) -> None:
    """The first answer is that of a leader that knows of no such topic."""
    broker.create_topic("fresh")
    asked: list[ApiKey] = []

    async def work(kafka: Kafka) -> dict[int, int]:
        ask = kafka.ask_broker

        async def late(broker_id: int, api: ApiKey, body: Any, version: int | None = None) -> Any:
            if not asked:
                body = {**body, "topics": [{**body["topics"][0], "name": "not-heard-of"}]}
            asked.append(api)
            return await ask(broker_id, api, body, version)

        kafka.ask_broker = late  # type: ignore[method-assign]
        return await records.list_offsets(kafka, "fresh", {0: records.END})

    assert with_kafka(broker, work) == {0: 0}
    assert asked == [ApiKey.LIST_OFFSETS] * 2
