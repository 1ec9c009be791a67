"""The table of keys, row by row against Apache Kafka's."""

import re

import pytest

from kafkapy.broker.config.client_metrics import ClientMetricsKeys
from kafkapy.broker.config.table.broker_keys import OWN, BrokerKeys, is_known, key_of
from kafkapy.broker.config.table.key import Key, NoDefault, Section
from kafkapy.broker.config.table.keys.group import GroupConfigKeys
from kafkapy.broker.config.table.keys.topic import TopicKeys
from kafkapy.broker.config.table.values import check, to_text
from tests.broker.config.kafka import KAFKA

SECTIONS: dict[str, type[Section]] = {
    "broker": BrokerKeys,
    "topic": TopicKeys,
    "group": GroupConfigKeys,
}
EVERY: dict[str, type[Section]] = {**SECTIONS, "client metrics": ClientMetricsKeys}
ALL = [
    pytest.param(key, id=f"{where}:{name}")
    for where, section in EVERY.items()
    for name, key in section.table.items()
]


@pytest.mark.parametrize("where", SECTIONS)
def test_the_keys_are_those_of_kafka(where: str) -> None:
    ours = {name for name, key in SECTIONS[where].table.items() if not key.is_internal}
    assert ours - OWN == set(KAFKA[where])


@pytest.mark.parametrize("where", SECTIONS)
def test_types_and_defaults_are_those_of_kafka(where: str) -> None:
    table = SECTIONS[where].table
    ours = {
        name: [table[name].kind.name, to_text(table[name].default_value)]
        for name in KAFKA[where]
        if not isinstance(table[name].default, NoDefault)
    }
    kafkas = {name: row[:2] for name, row in KAFKA[where].items() if name in ours}
    assert ours == kafkas


def test_only_three_keys_must_be_set() -> None:
    required = {
        name for name, key in BrokerKeys.table.items() if isinstance(key.default, NoDefault)
    }
    assert required == {"node.id", "process.roles", "controller.listener.names"}


def test_what_can_be_altered_while_running_is_what_kafka_can() -> None:
    ours = {
        name: [key.dynamic.value, key.importance.value]
        for name, key in BrokerKeys.table.items()
        if not key.is_internal and name not in OWN
    }
    assert ours == {name: row[2:] for name, row in KAFKA["broker"].items()}


def test_topics_fall_back_on_the_keys_that_kafkas_fall_back_on() -> None:
    for name, (_, _, synonym) in KAFKA["topic"].items():
        ours = TopicKeys.table[name].synonyms
        assert (ours[0] if ours else "null") == synonym, name
        assert all(one in BrokerKeys.table for one in ours)


@pytest.mark.parametrize("key", ALL)
def test_every_row_says_what_it_does_in_one_sentence(key: Key[object]) -> None:
    assert re.fullmatch(r"[A-Z].{10,180}\.", key.documentation), key.documentation
    assert key.acted_on or key.note.endswith("."), key.note


@pytest.mark.parametrize("key", ALL)
def test_every_default_passes_its_own_validator(key: Key[object]) -> None:
    if not isinstance(key.default, NoDefault):
        check(key, key.default_value)


def test_prefixed_keys_are_known_by_what_follows_the_prefix() -> None:
    for name in (
        "listener.name.external.ssl.keystore.location",
        "listener.name.external.max.connections",
        "listener.name.external.scram-sha-256.sasl.jaas.config",
        "listener.name.external.plain.sasl.server.callback.handler.class",
    ):
        assert key_of(name) is not None, name
    assert not is_known("listener.name.external.no.such.key")
    assert is_known("rsm.config.bucket")
    assert not is_known("log.retention.days")
