"""What says how many consumers a group needs; and consumers that come and go by it."""

import time

from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker, Cluster
from tests.broker.security.gate import PASSWORD
from tests.http.entrance.test_login import SASL
from tests.http.pages import HTTP, client_of, grant, with_kafka


def test_lag_is_one_object(broker: Broker) -> None:
    broker.create_topic("scaled", partitions=3)

    async def work(kafka: Kafka) -> None:
        for partition in (0, 1):
            await records.produce(kafka, "scaled", partition, [NewRecord(None, b"v", 1)] * 10)
        offsets = {TopicPartition("scaled", 0): 4, TopicPartition("scaled", 1): 10}
        await groups.commit(kafka, "workers", offsets | {TopicPartition("scaled", 2): 0})

    with_kafka(broker, work)
    with client_of(broker) as client:
        told = client.get("/api/v1/scaling/groups/workers").json()
        assert told["group"] == "workers"
        assert (told["lag"], told["partitions"], told["busy_partitions"]) == (6, 3, 1)
        assert client.get("/api/v1/scaling/groups/workers?topic=other").status_code == 404
        unknown = client.get("/api/v1/scaling/groups/nobody")
        assert unknown.status_code == 404
        assert unknown.json()["error"] == "GROUP_ID_NOT_FOUND"


def test_partitions_that_nobody_has_read_count_for_who_begins_at_the_start(
    broker: Broker,
) -> None:
    broker.create_topic("half-read", partitions=3)

    async def work(kafka: Kafka) -> None:
        for partition in range(3):
            await records.produce(kafka, "half-read", partition, [NewRecord(None, b"v", 1)] * 10)
        await groups.commit(kafka, "beginners", {TopicPartition("half-read", 0): 4})

    with_kafka(broker, work)
    with client_of(broker) as client:
        where = "/api/v1/scaling/groups/beginners"
        told = [client.get(where + query).json() for query in ("", "?reset=earliest")]
        assert [(one["lag"], one["busy_partitions"]) for one in told] == [(6, 1), (26, 3)]
        unread = "/api/v1/scaling/groups/nobody-yet?topic=half-read"
        assert client.get(unread).status_code == 404
        assert client.get(unread + "&reset=earliest").json()["lag"] == 30
        assert client.get(where + "?reset=middle").status_code == 400


def test_what_the_coordinator_looked_at_is_told_too(broker: Broker) -> None:
    broker.create_topic("looked-at")

    async def work(kafka: Kafka) -> None:
        await records.produce(kafka, "looked-at", 0, [NewRecord(None, b"v", 1000)])
        await groups.commit(kafka, "late", {TopicPartition("looked-at", 0): 0})
        http = broker._running().http
        assert http is not None
        assert http.site is not None
        await http.site.lag.look(kafka.link)

    with_kafka(broker, work)
    with client_of(broker) as client:
        told = client.get("/api/v1/scaling/groups/late").json()
    assert told["lag_seconds"] > 1_000_000_000
    assert told["members"] == 0


def test_a_group_that_reads_a_view_is_behind_as_the_view_is(broker: Broker) -> None:
    broker.create_topic("seen-whole", partitions=2)
    config = {"kafkapy.view.of": "seen-whole", "kafkapy.view.where": "value.region is 'eu'"}
    broker.create_topic("seen", partitions=2, config=config)

    async def work(kafka: Kafka) -> None:
        for partition in range(2):
            await records.produce(kafka, "seen-whole", partition, [NewRecord(None, b"v", 1)] * 10)
        await groups.commit(kafka, "viewers", {TopicPartition("seen", 0): 4})

    with_kafka(broker, work)
    with client_of(broker) as client:
        where = "/api/v1/scaling/groups/viewers"
        told = [client.get(where + query).json() for query in ("", "?reset=earliest")]
    assert [(one["lag"], one["partitions"]) for one in told] == [(6, 1), (16, 2)]


def test_nothing_is_told_of_topics_that_one_may_not_see() -> None:
    """The group has two topics, alice sees one of them: the other is older, and adds nothing."""
    with Broker(SASL) as broker:
        grant(broker, Operation.DESCRIBE, ResourceType.GROUP, "mixed")
        grant(broker, Operation.DESCRIBE, ResourceType.TOPIC, "shown")

        async def work(kafka: Kafka) -> None:
            for topic, timestamp in (("shown", int(time.time() * 1000)), ("secret", 1)):
                broker.create_topic(topic)
                await records.produce(kafka, topic, 0, [NewRecord(None, b"v", timestamp)])
            offsets = {TopicPartition(topic, 0): 0 for topic in ("shown", "secret")}
            await groups.commit(kafka, "mixed", offsets)
            http = broker._running().http
            assert http is not None
            assert http.site is not None
            await http.site.lag.look(kafka.link)

        with_kafka(broker, work, "User:broker")
        with client_of(broker, auth=("alice", PASSWORD)) as client:
            told = client.get("/api/v1/scaling/groups/mixed").json()
    assert (told["lag"], told["partitions"]) == (1, 1)
    assert told["lag_seconds"] < 1_000_000_000


def test_any_node_tells_of_any_group() -> None:
    with Cluster(3, settings=HTTP) as cluster:
        cluster.create_topic("spread", partitions=6)

        async def work(kafka: Kafka) -> None:
            for partition in range(6):
                await records.produce(kafka, "spread", partition, [NewRecord(None, b"v", 1)])
            zero = {TopicPartition("spread", partition): 0 for partition in range(6)}
            await groups.commit(kafka, "everywhere", zero)

        with_kafka(cluster.node(1), work)
        for node_id in (1, 2, 3):
            with client_of(cluster.node(node_id)) as client:
                told = client.get("/api/v1/scaling/groups/everywhere").json()
                assert (told["lag"], told["busy_partitions"]) == (6, 6)


def test_consumers_come_and_go_with_lag(broker: Broker) -> None:
    """As KEDA's metrics-api scaler counts: one consumer for ten records, of 1 to 4. In each round
    every consumer reads five, and commits them; in the first rounds a producer writes more."""
    broker.create_topic("work", partitions=4)
    committed = dict.fromkeys(range(4), 0)

    def wanted() -> int:
        with client_of(broker) as client:
            told = client.get("/api/v1/scaling/groups/scaled").json()
        lag, busy = int(told["lag"]), int(told["busy_partitions"])
        return max(1, min(busy, -(-lag // 10)))

    async def begin(kafka: Kafka) -> None:
        await groups.commit(kafka, "scaled", {TopicPartition("work", n): 0 for n in range(4)})

    async def write(kafka: Kafka) -> None:
        for partition in range(4):
            await records.produce(kafka, "work", partition, [NewRecord(None, b"v", 1)] * 5)

    async def read(kafka: Kafka) -> None:
        busiest = sorted(committed, key=lambda partition: committed[partition])
        for partition in busiest[: counts[-1]]:
            found = await records.fetch(kafka, "work", partition, committed[partition])
            committed[partition] += len(found.records[:5])
            await groups.commit(
                kafka, "scaled", {TopicPartition("work", partition): committed[partition]}
            )

    with_kafka(broker, begin)
    counts = [wanted()]
    for producing in (True, True, True, False, False, False, False, False, False):
        if producing:
            with_kafka(broker, write)
        counts.append(wanted())
        with_kafka(broker, read)
    assert counts == [1, 2, 3, 4, 2, 1, 1, 1, 1, 1]
