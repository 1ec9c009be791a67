"""Stock clients read views: compressed batches, transactions, a cluster that loses a node."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkapy.testing import Cluster

WHERE = "value.region = 'eu' and headers.kind is not null"


@pytest.fixture(scope="module")
def kafka() -> Iterator[Cluster]:
    with Cluster(nodes=3) as kafka:
        yield kafka


def make(kafka: Cluster, source: str) -> str:
    """A topic with three partitions on all nodes, and a view of it."""
    kafka.create_topic(source, partitions=3, replication_factor=3)
    view = f"{source}.eu"
    config = {"kafkapy.view.of": source, "kafkapy.view.where": WHERE}
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for made in admin.create_topics([NewTopic(view, config=config)]).values():
        made.result(30)
    return view


def send(producer: Producer, topic: str, numbers: range) -> None:
    """One in ten is shown."""
    for number in numbers:
        value = json.dumps({"region": "us" if number % 10 else "eu", "number": number})
        producer.produce(
            topic, value, str(number), partition=number % 3, headers={"kind": b"order"}
        )
    producer.flush(30)


class Reader:
    """Of all partitions from their beginning, in a group."""

    def __init__(self, kafka: Cluster, topic: str, **conf: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                **{name.replace("_", "."): value for name, value in conf.items()},
            }
        )
        self.consumer.subscribe([topic])
        self.seen: list[int] = []
        self.offsets: list[tuple[int, int]] = []

    def until(self, count: int) -> list[int]:
        while len(self.seen) < count:
            self._poll()
        return sorted(self.seen)

    def to_the_end(self) -> list[int]:
        ended: set[int] = set()
        while len(ended) < 3:
            ended |= self._poll()
        return sorted(self.seen)

    def _poll(self) -> set[int]:
        message = self.consumer.poll(30)
        assert message is not None, "nothing came"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF or error.retriable(), error
            return (
                {message.partition() or 0} if error.code() == KafkaError._PARTITION_EOF else set()
            )
        self.seen.append(json.loads(message.value() or b"")["number"])
        self.offsets.append((message.partition() or 0, message.offset() or 0))
        return set()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_come_with_their_own_codec(kafka: Cluster, codec: str) -> None:
    view = make(kafka, f"packed-{codec}")
    conf = {"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 20}
    send(Producer(conf), f"packed-{codec}", range(300))
    reader = Reader(kafka, view, check_crcs="true")
    assert reader.to_the_end() == list(range(0, 300, 10))
    assert sorted(reader.offsets) == sorted((one % 3, one // 3) for one in range(0, 300, 10))
    reader.consumer.commit(asynchronous=False)
    places = [TopicPartition(view, index) for index in range(3)]
    assert all(one.offset > 0 for one in reader.consumer.committed(places, 30))
    reader.consumer.close()


def test_who_reads_committed_sees_no_aborted_records(kafka: Cluster) -> None:
    view = make(kafka, "paid")
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"})
    producer.init_transactions(30)
    for first, commits in ((0, True), (100, False), (200, True), (300, False)):
        producer.begin_transaction()
        send(producer, "paid", range(first, first + 100))
        if commits:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    reader = Reader(kafka, view, isolation_level="read_committed")
    assert reader.to_the_end() == [*range(0, 100, 10), *range(200, 300, 10)]
    reader.consumer.close()
    everything = Reader(kafka, view, isolation_level="read_uncommitted", group_id="all")
    assert everything.to_the_end() == list(range(0, 400, 10))
    everything.consumer.close()


def test_a_view_goes_on_where_its_source_does(kafka: Cluster) -> None:
    view = make(kafka, "kept")
    reader = Reader(kafka, view)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    send(producer, "kept", range(100))
    assert reader.until(10) == list(range(0, 100, 10))
    dead = kafka.leader("kept", 0)
    kafka.kill(dead)
    send(producer, "kept", range(100, 200))
    assert reader.until(20) == list(range(0, 200, 10))
    reader.consumer.close()
    kafka.restart(dead)
    kafka.wait_until_whole()
