"""librdkafka reads from the replica in its rack (client.rack, KIP-392), from real processes."""

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kafkapy.broker.config.table.shared_values import RACK_AWARE_SELECTOR
from kafkapy.cli.local.local_cluster import LocalCluster

PATIENCE_S = 30.0
COUNT = 50


@contextmanager
def in_racks(directory: Path) -> Iterator[LocalCluster]:
    """Two brokers, each in a rack of its own: rack-1, rack-2."""
    cluster = LocalCluster.make(
        directory, brokers=2, base_port=0, settings={"replica.selector.class": RACK_AWARE_SELECTOR}
    )
    for node_id in cluster.nodes:
        with (cluster.home(node_id) / "server.properties").open("a") as properties:
            properties.write(f"broker.rack=rack-{node_id}\n")
    try:
        cluster.start(cluster.nodes, PATIENCE_S)
        yield cluster
    finally:
        for node_id in cluster.nodes:
            if cluster.pid(node_id) is not None:
                cluster.kill(node_id)


def test_librdkafka_reads_from_the_follower_in_its_rack(tmp_path: Path) -> None:
    with in_racks(tmp_path / "c") as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        made = admin.create_topics([NewTopic("t", num_partitions=1, replication_factor=2)])
        made["t"].result(PATIENCE_S)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        for number in range(COUNT):
            producer.produce("t", str(number).encode())
        assert producer.flush(PATIENCE_S) == 0
        leader = admin.list_topics("t", PATIENCE_S).topics["t"].partitions[0].leader
        assert read(cluster, rack="rack-1") == 1
        assert read(cluster, rack="rack-2") == 2
        assert read(cluster, rack="nowhere") == leader


def read(cluster: LocalCluster, rack: str) -> int:
    """Everything, in order; the node that it came from in the end."""
    sources: list[int] = []

    def told(text: str) -> None:
        partition = json.loads(text)["topics"].get("t", {}).get("partitions", {}).get("0")
        if partition is not None:
            sources.append(partition["broker"])

    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": rack,
            "client.rack": rack,
            "statistics.interval.ms": 20,
            "stats_cb": told,
            "enable.auto.commit": False,
        }
    )
    with closing(consumer):
        consumer.assign([TopicPartition("t", 0, 0)])
        values: list[bytes | None] = []
        give_up_at = time.monotonic() + PATIENCE_S
        while len(values) < COUNT:
            assert time.monotonic() < give_up_at, (rack, len(values), sources)
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None, message.error()
                values.append(message.value())
        assert values == [str(number).encode() for number in range(COUNT)]
        sources.clear()
        while not sources:
            assert time.monotonic() < give_up_at, rack
            consumer.poll(0.1)
    return sources[-1]
