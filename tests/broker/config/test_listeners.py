"""Listeners: what is read, and which contradictions stop the start."""

import pytest

from kafkapy.broker.config.listeners import (
    ConfiguredVoter,
    Endpoint,
    Listeners,
    SecurityProtocol,
    parse_addresses,
    parse_voters,
)
from kafkapy.broker.config.table.values import ConfigError
from tests.broker.config.kafka import minimal


def test_listeners_are_split_by_role() -> None:
    listening = minimal().listening
    assert listening.broker == (Endpoint("PLAINTEXT", "", 9092, SecurityProtocol.PLAINTEXT),)
    assert listening.controller == (Endpoint("CONTROLLER", "", 9093, SecurityProtocol.PLAINTEXT),)
    assert listening.inter_broker_name == "PLAINTEXT"


def test_advertised_listeners_replace_the_brokers_and_leave_the_controllers() -> None:
    listening = minimal(advertised_listeners="PLAINTEXT://kafka-1:19092").listening
    assert [(one.name, one.host, one.port) for one in listening.advertised] == [
        ("PLAINTEXT", "kafka-1", 19092),
        ("CONTROLLER", "", 9093),
    ]


def test_a_listener_has_the_protocol_that_the_map_says() -> None:
    config = minimal(
        listeners="internal://:9092,EXTERNAL://0.0.0.0:9094,CONTROLLER://[::1]:9093",
        listener_security_protocol_map=(
            "INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        inter_broker_listener_name="INTERNAL",
    )
    # A node with such a listener is refused at start; what it would be is known all the same.
    config.alter(
        cluster={},
        broker={
            "listener.security.protocol.map": (
                "INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL,CONTROLLER:PLAINTEXT"
            )
        },
    )
    listening = Listeners(config)
    assert [(one.name, one.host, one.protocol.name) for one in listening.all] == [
        ("INTERNAL", "", "PLAINTEXT"),
        ("EXTERNAL", "0.0.0.0", "SASL_SSL"),
        ("CONTROLLER", "::1", "PLAINTEXT"),
    ]


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"listeners": "nonsense"}, "a listener is <name>://<host>:<port>"),
        ({"listeners": "PLAINTEXT://:99999,CONTROLLER://:9093"}, "a listener is"),
        ({"listeners": "FOO://:9092,CONTROLLER://:9093"}, "has no protocol for FOO"),
        (
            {"listeners": "PLAINTEXT://:9092,PLAINTEXT://:9094,CONTROLLER://:9093"},
            "each listener needs its own name",
        ),
        ({"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"}, "its own port"),
        ({"listeners": "PLAINTEXT://:9092"}, "listeners must have one of them"),
        ({"advertised_listeners": "PLAINTEXT://0.0.0.0:9092"}, "nobody can connect"),
        ({"inter_broker_listener_name": "CONTROLLER"}, "is the brokers' own listener"),
        ({"inter_broker_listener_name": "NONE"}, "map does not know it"),
        ({"listener_security_protocol_map": "A:B"}, "an entry is <listener>:<protocol>"),
        ({"process_roles": "controller"}, "has only controller listeners"),
    ],
)
def test_a_contradiction_is_said_in_one_sentence(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        minimal(**properties)


def test_the_same_port_on_two_addresses_is_no_contradiction() -> None:
    listening = minimal(listeners="PLAINTEXT://10.0.0.1:9092,CONTROLLER://10.0.0.2:9092").listening
    assert len(listening.all) == 2


def test_voters_and_addresses_are_read() -> None:
    assert parse_voters(("1@a:9093", "2@[::1]:9094")) == (
        ConfiguredVoter(1, "a", 9093),
        ConfiguredVoter(2, "::1", 9094),
    )
    assert parse_addresses("x", ("a:1",)) == (("a", 1),)
    with pytest.raises(ConfigError, match="a voter is <id>@<host>:<port>"):
        parse_voters(("a:9093",))
    with pytest.raises(ConfigError, match="an address is <host>:<port>"):
        parse_addresses("x", ("a",))
