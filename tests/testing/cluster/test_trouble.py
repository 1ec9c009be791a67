"""A `Cluster` whose test goes wrong: what is left, what is told, what does not wait for ever."""

import gc
import socket
import threading

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.testing import Cluster
from kafkapy.testing.node.thread import BrokerDied, BrokerPaused


def brokers() -> set[threading.Thread]:
    """Of other tests, too: a broker may be there for the whole session."""
    return {one for one in threading.enumerate() if one.name == "kafkapy-broker"}


def join(ending: set[threading.Thread]) -> None:
    for one in ending:
        one.join(30)
        assert not one.is_alive()


def test_where_one_node_does_not_start_none_is_left() -> None:
    before = brokers()
    kafka = Cluster()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", kafka.node(2).port))
        with pytest.raises(OSError, match="in use"), kafka:
            pass
    assert brokers() <= before


def test_one_that_nobody_holds_any_more_ends() -> None:
    before = brokers()
    kafka = Cluster(nodes=2)
    kafka.start()
    kafka.pause(2)
    its = brokers() - before
    assert len(its) == 2
    del kafka
    gc.collect()
    join(its)


def test_a_node_that_dies_of_its_own_is_told() -> None:
    def die() -> None:
        raise KeyError("a bug")

    before = brokers()
    kafka = Cluster(nodes=1)
    kafka.start()
    its = brokers() - before
    kafka.node(1)._running().run_soon(die)
    join(its)
    assert not kafka.node(1).is_running
    with pytest.raises(BrokerDied) as told:
        kafka.close()
    assert isinstance(told.value.__cause__, KeyError)


def test_who_asks_a_paused_node_is_told_and_does_not_wait() -> None:
    with Cluster() as kafka:
        kafka.create_topic("orders")
        kafka.pause(2)
        kafka.pause(2)
        with pytest.raises(BrokerPaused, match="resume"):
            kafka.node(2).records("orders")
        assert kafka.leader("orders") in kafka.nodes
        for node_id in (1, 3):
            kafka.pause(node_id)
        with pytest.raises(ValueError, match="no node answers"):
            kafka.leader("orders")
        for node_id in kafka.nodes:
            kafka.resume(node_id)
        assert kafka.node(2).records("orders") == []


def test_what_is_not_there_is_named() -> None:
    with Cluster(nodes=1) as kafka:
        kafka.create_topic("orders")
        for topic, partition, told in (("order", 0, "topic order"), ("orders", 1, "orders-1")):
            for ask in (kafka.leader, kafka.in_sync):
                with pytest.raises(Refused, match=f"there is no .*{told}") as refused:
                    ask(topic, partition)
                assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
