"""A broker that asks who is there, met by real clients: who gets in, who does not, and why."""

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from kafkapy.testing import SecuredBroker

_PATIENCE = 20


def sent(settings: dict[str, Any], topic: str = "orders") -> KafkaError | None:
    """What came of one record: None, or why it was given up."""
    outcome: list[KafkaError | None] = []
    quiet: dict[str, Any] = {"log_level": 0, "error_cb": lambda error: None}
    producer = Producer({**settings, "message.timeout.ms": 1500, **quiet})
    producer.produce(topic, b"1", on_delivery=lambda error, _: outcome.append(error))
    producer.flush(_PATIENCE)
    return outcome[0]


def refusal(settings: dict[str, Any]) -> str:
    """What the client says of why it is not let in."""
    said: list[str] = []
    heard: dict[str, Any] = {"log_level": 0, "error_cb": lambda one: said.append(str(one))}
    admin = AdminClient({**settings, **heard})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=1)
    admin.poll(0)
    return "; ".join(said)


def allowed(kafka: SecuredBroker, user: str = "alice") -> None:
    kafka.create_topic("orders")
    kafka.acls.allow(user, "write", topic="orders")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.kafka(protocol="SASL_PLAINTEXT")
def test_who_was_added_gets_in_and_who_was_removed_does_not(
    kafka_secured: SecuredBroker, mechanism: str
) -> None:
    kafka = kafka_secured
    kafka.users.add("alice", 'a "secret", with = and \\')
    allowed(kafka)
    settings = kafka.login("alice", mechanism)
    assert sent(settings) is None
    kafka.users.add("alice", "another")
    assert "failed" in refusal(settings).lower()
    settings = kafka.login("alice", mechanism)
    kafka.users.remove("alice")
    assert list(kafka.users) == []
    assert "failed" in refusal(settings).lower()


def test_what_is_not_allowed_is_refused_until_it_is(kafka_secured: SecuredBroker) -> None:
    kafka = kafka_secured
    kafka.create_topic("orders")
    kafka.users.add("alice")
    login = kafka.login("alice")
    refused = sent(login)
    assert refused is not None
    assert refused.name() == "TOPIC_AUTHORIZATION_FAILED"
    kafka.acls.allow("alice", "write", topic="ord", prefixed=True)
    assert sent(login) is None
    kafka.acls.deny("alice", "write", topic="orders", host="127.0.0.1")
    assert sent(login) is not None
    kafka.acls.remove("alice")
    assert list(kafka.acls) == []
    assert len(kafka.records("orders")) == 1


def test_groups_and_the_cluster(kafka_secured: SecuredBroker) -> None:
    kafka = kafka_secured
    kafka.produce("orders", "1")
    kafka.users.add("alice")
    kafka.acls.allow("alice", "read", topic="orders")
    kafka.acls.allow("User:*", "describe", cluster=True)
    settings = {**kafka.login("alice"), "group.id": "shop", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "log_level": 0})
    consumer.subscribe(["orders"])
    got = consumer.poll(_PATIENCE)
    assert got is not None
    refused = got.error()
    assert refused is not None
    assert refused.name() == "GROUP_AUTHORIZATION_FAILED"
    consumer.close()
    kafka.acls.allow("alice", "read", group="shop")
    consumer = Consumer(settings)
    consumer.subscribe(["orders"])
    got = consumer.poll(_PATIENCE)
    assert got is not None
    assert got.value() == b"1"
    consumer.close()


SHOWN: dict[str, Callable[[SecuredBroker], None]] = {
    "expired": lambda kafka: kafka.certificates.show_expired(),
    "another host": lambda kafka: kafka.certificates.show_of_another_host(),
    "a stranger": lambda kafka: kafka.certificates.show_of_a_stranger(),
}


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN)
def test_a_wrong_certificate_is_not_believed(
    kafka_secured: SecuredBroker, show: Callable[[SecuredBroker], None]
) -> None:
    kafka = kafka_secured
    kafka.users.add("alice")
    allowed(kafka)
    show(kafka)
    settings = kafka.login("alice")
    assert "ssl" in refusal(settings).lower()
    kafka.certificates.show_good()
    assert sent(settings) is None


@pytest.mark.kafka(protocol="SSL")
def test_clients_are_known_by_their_certificates(kafka_secured: SecuredBroker) -> None:
    kafka = kafka_secured
    allowed(kafka)
    assert sent(kafka.login("alice")) is None
    assert sent(kafka.login("bob")) is not None
    certificates = kafka.certificates
    for wrong in (certificates.expired_client("alice"), certificates.strange_client("alice")):
        given = {"ssl.certificate.location": wrong.certificate, "ssl.key.location": wrong.key}
        settings = {**kafka.login("alice"), **{name: str(one) for name, one in given.items()}}
        assert sent(settings) is not None
    assert len(kafka.records("orders")) == 1


def test_users_acls_and_certificates_outlive_a_restart(tmp_path: Path) -> None:
    with SecuredBroker(directory=tmp_path) as kafka:
        kafka.users.add("alice")
        allowed(kafka)
        kafka.restart()
        for mechanism in ("PLAIN", "SCRAM-SHA-512"):
            assert sent(kafka.login("alice", mechanism)) is None


def test_files_are_gone_with_the_broker() -> None:
    with SecuredBroker() as kafka:
        authority = kafka.certificates.authority
        context = ssl.create_default_context(cafile=str(authority))
        assert len(context.get_ca_certs()) == 1
    assert not authority.exists()


def test_what_cannot_be_is_said_at_once() -> None:
    with pytest.raises(ValueError, match="one of SASL_SSL"):
        SecuredBroker(protocol="PLAINTEXT")
    with SecuredBroker(protocol="SASL_PLAINTEXT") as kafka:
        with pytest.raises(ValueError, match="there is no user alice"):
            kafka.login("alice")
        with pytest.raises(ValueError, match="no certificates"):
            kafka.certificates.show_expired()
        with pytest.raises(ValueError, match="no such operation"):
            kafka.acls.allow("alice", "fly", topic="orders")
        for where in ({}, {"topic": "a", "group": "b"}, {"broker": "1"}, {"cluster": "yes"}):
            with pytest.raises(ValueError, match=r"say where|no such resource"):
                kafka.acls.allow("alice", "read", **where)


def test_an_expression_stands_for_what_may_be_seen(kafka_secured: SecuredBroker) -> None:
    """KIP-848: the coordinator resolves it, and leaves out what the member may not describe."""
    kafka = kafka_secured
    for topic in ("orders-green", "orders-red", "stock"):
        kafka.produce(topic, topic)
    kafka.users.add("green")
    kafka.acls.allow("green", "read", topic="orders-green")
    kafka.acls.allow("green", "read", group="shop")
    settings = {**kafka.login("green"), "group.id": "shop", "group.protocol": "consumer"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe(["^orders-.*"])
    got = consumer.poll(_PATIENCE)
    assert got is not None
    assert (got.error(), got.value()) == (None, b"orders-green")
    assert [one.topic for one in consumer.assignment()] == ["orders-green"]
    (member,) = kafka.groups()[0].members
    assert {one.topic for one in member.partitions} == {"orders-green"}
    consumer.close()
