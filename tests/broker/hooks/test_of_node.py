"""Hooks of a node: who may do what, who is connected; and what can be read of a topic."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from kafkapy.broker.config.table.values import ConfigError
from kafkapy.hooks import (
    Append,
    AppendHook,
    Asked,
    AuthorizeHook,
    Client,
    ConnectionHook,
    Place,
)
from kafkapy.testing import Broker, SecuredBroker
from kafkapy.testing.node.settings import configured


class OnlyOwnTopics(AuthorizeHook):
    """A user's topics begin with the user's name, whatever the ACLs say; all else is theirs."""

    def __init__(self) -> None:
        self.asked: list[tuple[Client, Asked]] = []
        self.is_broken = False

    def allows(self, client: Client, asked: Asked) -> bool:
        self.asked.append((client, asked))
        if self.is_broken:
            raise ValueError("no idea")
        if asked.resource_type != "TOPIC":
            return asked.is_allowed
        return asked.resource_name.startswith(client.principal.removeprefix("User:"))


@pytest.fixture
def hook() -> OnlyOwnTopics:
    return OnlyOwnTopics()


@pytest.fixture
def kafka(hook: OnlyOwnTopics) -> Iterator[SecuredBroker]:
    settings = {
        "kafkapy.hook.authorize": "own",
        "kafkapy.hook.authorize.cache.ms": "100",
    }
    with SecuredBroker(settings, protocol="SASL_PLAINTEXT", hooks={"own": hook}) as broker:
        broker.users.add("ann")
        for topic in ("ann.orders", "bob.orders"):
            broker.create_topic(topic)
        yield broker


def producer(kafka: SecuredBroker) -> Producer:
    return Producer({**kafka.login("ann"), "message.timeout.ms": 20_000})


def send(producer: Producer, topic: str) -> KafkaError | None:
    told: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        told.append(error)

    producer.produce(topic, b"value", on_delivery=delivered)
    producer.flush(30)
    return told[0]


def test_the_hook_has_the_last_word(kafka: SecuredBroker, hook: OnlyOwnTopics) -> None:
    client = producer(kafka)
    assert send(client, "ann.orders") is None  # no ACL said so
    error = send(client, "bob.orders")
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    written = [one for _, one in hook.asked if one.operation == "WRITE"]
    assert Asked("WRITE", "TOPIC", "ann.orders", False) in written
    assert {one.principal for one, _ in hook.asked} == {"User:ann"}


def test_a_hook_without_an_answer_allows_nothing(kafka: SecuredBroker, hook: OnlyOwnTopics) -> None:
    """Also what it allowed before, once that is forgotten; super users are not asked about."""
    client = producer(kafka)
    assert send(client, "ann.orders") is None
    hook.is_broken = True
    while send(client, "ann.orders") is None:
        kafka.clock.advance(ms=100)
    kafka.create_topic("made")
    hook.is_broken = False
    while send(producer(kafka), "ann.orders") is not None:  # librdkafka's remember a refusal
        kafka.clock.advance(ms=100)


def test_it_needs_an_authorizer() -> None:
    with pytest.raises(ConfigError, match=r"authorizer\.class\.name"):
        configured("/nowhere", "127.0.0.1:0", {"kafkapy.hook.authorize": "own"})


class Hears(AppendHook, ConnectionHook):
    def __init__(self) -> None:
        self.appends: list[tuple[Place, Append]] = []
        self.came: list[Client] = []
        self.went: list[Client] = []

    def appended(self, place: Place, append: Append) -> None:
        self.appends.append((place, append))

    def connected(self, client: Client) -> None:
        self.came.append(client)

    def disconnected(self, client: Client) -> None:
        self.went.append(client)
        raise ValueError("it may fail: nobody asked")


def test_an_append_hook_hears_of_every_offset_once() -> None:
    hears = Hears()
    with Broker(hooks={"hears": hears}) as kafka:
        kafka.create_topic("t", 2, {"kafkapy.hook.append": "hears"})
        kafka.create_topic("others")
        kafka.produce("others", "value")
        client = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 0})
        for number in range(500):
            client.produce("t", b"%d" % number, partition=number % 2)
        assert client.flush(30) == 0
        kafka.wait_for("t", 500)
    for index in range(2):
        told = [append for place, append in hears.appends if place == ("t", index)]
        assert told[0].first_offset == 0
        assert told[-1].end_offset == 250
        assert all(one.end_offset == next_.first_offset for one, next_ in pairwise(told))
        assert all(one.size > 0 for one in told)
    assert {place.topic for place, _ in hears.appends} == {"t"}


def test_a_connection_hook_hears_who_comes_and_goes() -> None:
    hears = Hears()
    settings = {"kafkapy.hook.connection": "hears"}
    with Broker(settings, hooks={"hears": hears}) as kafka:
        kafka.create_topic("t")
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g"})
        consumer.list_topics("t", 10)
        assert Client("User:ANONYMOUS", "127.0.0.1", "PLAINTEXT") in hears.came
        consumer.close()
        while not hears.went:
            kafka.produce("t", "value")
        assert hears.went[0] in hears.came


def test_a_hook_that_is_none_allows_nothing_and_the_node_starts() -> None:
    settings = {"kafkapy.hook.authorize": "nobody"}
    with SecuredBroker(settings, protocol="SASL_PLAINTEXT") as kafka:
        kafka.users.add("ann")
        kafka.acls.allow("ann", "write", topic="t")
        kafka.create_topic("t")
        error = send(producer(kafka), "t")
        assert error is not None
        assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
