"""A cluster in the test's process: real sockets, real fail-over, and what can be done to it."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kafkapy.testing import Cluster

PATIENCE_S = 30.0


@pytest.fixture
def kafka() -> Iterator[Cluster]:
    with Cluster(3) as cluster:
        yield cluster


def produce(kafka: Cluster, topic: str, values: range, through: int | None = None) -> None:
    """All are acknowledged by all in sync."""
    bootstrap = kafka.bootstrap if through is None else kafka.node(through).bootstrap
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    failed: list[object] = []
    for value in values:
        producer.produce(topic, str(value).encode(), on_delivery=lambda e, _: failed.append(e))
    assert producer.flush(PATIENCE_S) == 0
    assert set(failed) <= {None}


def consume(kafka: Cluster, topic: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            values.append(int(message.value() or b""))
    consumer.close()
    return values


def test_a_leader_dies_and_nothing_acknowledged_is_lost(kafka: Cluster) -> None:
    kafka.create_topic("t")
    produce(kafka, "t", range(100))
    dead = kafka.leader("t")
    kafka.kill(dead)
    produce(kafka, "t", range(100, 200))
    assert kafka.leader("t") not in (-1, dead)
    assert consume(kafka, "t", 200) == list(range(200))
    kafka.start(dead)
    kafka.wait_until_whole()
    assert [int(one.value or b"") for one in kafka.node(dead).records("t")] == list(range(200))


def test_the_controller_stands_still_and_another_takes_over(kafka: Cluster) -> None:
    kafka.create_topic("t")
    paused = kafka.controller
    kafka.pause(paused)
    kafka.wait_for(lambda: kafka.controller not in (0, paused), "another is the controller")
    kafka.wait_for(lambda: kafka.leader("t") not in (-1, paused), "another leads")
    produce(kafka, "t", range(50))
    kafka.resume(paused)
    kafka.wait_until_whole()
    assert kafka.in_sync("t") == {1, 2, 3}


def test_a_node_that_is_cut_off_leads_nothing_any_more(kafka: Cluster) -> None:
    kafka.create_topic("t", assignment={0: [1, 2, 3]})
    kafka.isolate(1)
    kafka.wait_for(lambda: kafka.leader("t") in (2, 3), "another leads")
    # Who asks the one that is cut off hears what it knew, as from Apache Kafka.
    produce(kafka, "t", range(50), through=kafka.leader("t"))
    kafka.heal()
    kafka.wait_until_whole()
    assert [int(one.value or b"") for one in kafka.node(1).records("t")] == list(range(50))


def test_a_cut_between_two_keeps_both_from_each_other_alone(kafka: Cluster) -> None:
    """The follower beats on, and is out of sync because it does not fetch."""
    one, other = sorted({1, 2, 3} - {kafka.controller})
    kafka.create_topic("t", assignment={0: [one, other]}, config={"min.insync.replicas": "1"})
    kafka.cut(one, other)
    produce(kafka, "t", range(10))
    assert kafka.in_sync("t") == {one}
    kafka.heal()
    kafka.wait_until_whole()
    assert len(kafka.node(other).records("t")) == 10


def test_a_cut_one_way_leaves_the_other(kafka: Cluster) -> None:
    """The follower's fetches do not arrive, the leader's answers would."""
    one, other = sorted({1, 2, 3} - {kafka.controller})
    kafka.create_topic("t", assignment={0: [one, other]}, config={"min.insync.replicas": "1"})
    kafka.create_topic("back", assignment={0: [other, one]}, config={"min.insync.replicas": "1"})
    kafka.cut_one_way(other, one)
    produce(kafka, "t", range(10))
    assert kafka.in_sync("t") == {one}
    # A fetch is a question and an answer: the other way round it is the answer that is lost.
    produce(kafka, "back", range(10))
    assert kafka.in_sync("back") == {other}
    kafka.heal()
    kafka.wait_until_whole()
    assert len(kafka.node(other).records("t")) == 10


def test_a_leader_moves_and_its_producer_follows(kafka: Cluster) -> None:
    kafka.create_topic("t", assignment={0: [1, 2, 3]})
    kafka.wait_until_whole()
    for leader in (3, 2, 1, 1):
        kafka.move_leader("t", to=leader)
        assert kafka.leader("t") == leader
        produce(kafka, "t", range(5))
    assert len(kafka.node(1).records("t")) == 20


def test_a_leader_moves_to_a_replica_in_sync_only(kafka: Cluster) -> None:
    kafka.create_topic("t", assignment={0: [1, 2]})
    with pytest.raises(ValueError, match="node 3 is not in sync"):
        kafka.move_leader("t", to=3)


def test_faults_of_the_cluster_meet_requests_to_any_node(kafka: Cluster) -> None:
    kafka.create_topic("t", assignment={0: [1, 2, 3]})
    kafka.wait_until_whole()
    lost = kafka.faults.on("Produce", topic="t").lose_answer().times(2)
    produce(kafka, "t", range(1))
    assert lost.fired == 2
    kafka.move_leader("t", to=2)
    refused = kafka.faults.on("Produce", topic="t").error("NOT_ENOUGH_REPLICAS").once()
    produce(kafka, "t", range(1, 2))
    assert refused.fired == 1
    assert [int(one.value or b"") for one in kafka.node(2).records("t")] == [0, 1]


def test_a_restart_of_each_node_is_not_noticed_by_a_producer(kafka: Cluster) -> None:
    kafka.create_topic("t", partitions=1)
    for number in kafka.nodes:
        kafka.restart(number)
        kafka.wait_until_whole()
        produce(kafka, "t", range(10 * number, 10 * number + 10))
    assert consume(kafka, "t", 30) == list(range(10, 40))


def test_faults_and_requests_are_about_clients(kafka: Cluster) -> None:
    kafka.create_topic("t", assignment={0: [2, 1, 3]})
    kafka.wait_until_whole()
    assert kafka.node(2).requests() == []
    kafka.node(2).faults.on("Produce").error("NOT_ENOUGH_REPLICAS").once()
    produce(kafka, "t", range(1))
    assert len(kafka.node(2).requests("Produce")) == 2


@pytest.mark.parametrize("nodes", [1, 5])
def test_of_one_node_or_of_five(nodes: int) -> None:
    with Cluster(nodes) as kafka:
        kafka.create_topic("t")
        produce(kafka, "t", range(5))
        assert kafka.in_sync("t") <= set(kafka.nodes)
