"""What is advertised of a listener on every interface that was given no name."""

import socket

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.server.sockets.binding import own_name

CLUSTER = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@a:9093,2@b:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "a.example.org")


def test_it_is_the_name_of_the_machine_as_in_kafka() -> None:
    """A quorum's leader is followed at this address: 127.0.0.1 would be whoever asks."""
    assert own_name(BrokerConfig(CLUSTER)) == "a.example.org"
    advertised = {**CLUSTER, "advertised.listeners": "PLAINTEXT://kafka:9092"}
    assert own_name(BrokerConfig(advertised)) == "a.example.org"


def test_a_cluster_of_one_is_for_programs_beside_it() -> None:
    alone = {**CLUSTER, "controller.quorum.voters": "1@a:9093"}
    assert own_name(BrokerConfig(alone)) == "127.0.0.1"


def test_the_name_is_not_looked_up_where_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may take a resolver's time-out."""
    monkeypatch.delattr(socket, "getfqdn")
    named = {**CLUSTER, "listeners": "PLAINTEXT://a:9092,CONTROLLER://a:9093"}
    assert own_name(BrokerConfig(named)) == "127.0.0.1"
