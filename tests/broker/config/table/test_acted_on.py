"""docs/CONFIG.md tells which keys do something. This test holds it to the truth.

Every key acts, has no effect for a reason that is said, or is refused. It acts if some
module reads it: as an attribute (`config.num_partitions`), by its name as a string, or as a
field of LogConfig, through which a topic's settings act.
"""

import ast
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import kafkapy
from kafkapy.broker.config.altering.alter import check_incremental
from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.client_metrics import ClientMetricsKeys
from kafkapy.broker.config.group_config import BOUNDS
from kafkapy.broker.config.rules import BrokerConfigRules
from kafkapy.broker.config.table.broker_keys import BrokerKeys
from kafkapy.broker.config.table.key import Dynamic, Section
from kafkapy.broker.config.table.keys.group import GroupConfigKeys
from kafkapy.broker.config.table.keys.topic import TopicKeys
from kafkapy.broker.config.table.refusals import REFUSALS, Kind, kind_of, refusal_of
from kafkapy.broker.config.table.values import ConfigError, to_text
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.configs import Alteration
from kafkapy.log.config import LogConfig
from tests.broker.config.kafka import minimal

_ROOT = Path(kafkapy.__file__).parent
_TABLE = _ROOT / "broker/config/table/keys"
# What these say is about the names, not what they do.
_ABOUT_NAMES = {
    _ROOT / "broker/config" / name
    for name in (
        "altering/broker_alter.py",
        "altering/scope.py",
        "client_metrics.py",
        "combinations.py",
        "altering/describe.py",
        "group_config.py",
        "table/refusals.py",
        "altering/synonyms.py",
    )
}
# Who alters settings does not act on them.
_ABOUT_NAMES.add(_ROOT / "sim/cluster/troubles/operations.py")
_TLS = "a listener with TLS needs a certificate and its key"
_GSSAPI = "does not offer GSSAPI .* it has PLAIN"


@cache
def _mentioned() -> frozenset[str]:
    """Every attribute read and every string said, outside of the table itself."""
    found: set[str] = set()
    for path in _ROOT.rglob("*.py"):
        if path.is_relative_to(_TABLE) or path in _ABOUT_NAMES:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return frozenset(found)


def _read_keys() -> set[str]:
    fields_of_log = {field.name for field in fields(LogConfig)}
    acting = {
        name
        for name, key in TopicKeys.table.items()
        if key.attribute in fields_of_log or name in _mentioned()
    }
    behind_topics = {one for name in acting for one in TopicKeys.table[name].synonyms}
    behind_groups = {
        one
        for name, key in GroupConfigKeys.table.items()
        if name in _mentioned() and key.acted_on
        for one in key.synonyms
    }
    broker = {
        name
        for name, key in BrokerKeys.table.items()
        if name in _mentioned() or key.attribute in _mentioned()
    }
    # group/settings.py puts the names of consumers' keys together.
    group = {
        name
        for name in GroupConfigKeys.table
        if name in _mentioned()
        or (name.startswith("consumer.") and name.removeprefix("consumer.") in _mentioned())
    }
    metrics = {name for name in ClientMetricsKeys.table if name in _mentioned()}
    bounds = {one for pair in BOUNDS.values() for one in pair if one is not None}
    return acting | behind_topics | behind_groups | broker | group | metrics | bounds


_SECTIONS: tuple[type[Section], ...] = (
    BrokerKeys,
    TopicKeys,
    GroupConfigKeys,
    ClientMetricsKeys,
)
_KEYS = [key for section in _SECTIONS for key in section.table.values()]
# A value that promises something, of each key that is refused as a whole.
_PROMISES = {
    "alter.config.policy.class.name": "a.Policy",
    "client.quota.callback.class": "a.Callback",
    "config.providers": "file",
    "create.topic.policy.class.name": "a.Policy",
    "principal.builder.class": "a.Builder",
    "remote.log.storage.system.enable": "true",
    "remote.storage.enable": "true",
    "transaction.two.phase.commit.enable": "true",
}
_PLAIN = "PLAINTEXT://:9092"


def test_every_key_is_of_one_kind() -> None:
    """It acts, has no effect for a reason that is said, or is refused; never two of them."""
    for key in _KEYS:
        kind, refusal = kind_of(key), refusal_of(key.name)
        assert (kind is Kind.WITHOUT_EFFECT) is bool(key.note), key.name
        assert key.acted_on is not bool(key.note), key.name
        if kind is Kind.WITHOUT_EFFECT:
            assert refusal is None, f"{key.name} is refused: take ignored= off its row"


def test_a_key_that_acts_is_read_somewhere() -> None:
    acting = {key.name for key in _KEYS if kind_of(key) is Kind.ACTS}
    unread = acting - _read_keys()
    assert not unread, (
        "say in broker/config/table/keys why nobody misses these (ignored=), or refuse them in "
        f"broker/config/table/refusals.py: {sorted(unread)}"
    )


def test_a_key_without_effect_is_read_nowhere() -> None:
    idle = {key.name for key in _KEYS if kind_of(key) is Kind.WITHOUT_EFFECT}
    now_read = idle & _read_keys()
    assert not now_read, (
        "take ignored= off these rows of broker/config/table/keys, then write docs/CONFIG.md "
        f"anew (python -m kafkapy.broker.config.table.document): {sorted(now_read)}"
    )


def test_refusals_are_of_keys_that_exist_and_each_has_a_promise_to_try() -> None:
    known = {key.name for key in _KEYS}
    refused = [name for refusal in REFUSALS for name in refusal.keys]
    assert len(refused) == len(set(refused))
    assert set(refused) <= known
    assert {key.name for key in _KEYS if kind_of(key) is Kind.REFUSED} == set(_PROMISES)


@pytest.mark.parametrize("name", sorted(set(_PROMISES) & set(BrokerKeys.table)))
def test_a_promise_stops_the_start_with_key_value_reason_and_what_to_do(name: str) -> None:
    config = minimal()
    with pytest.raises(ConfigError) as raised:
        BrokerConfig({**config.static, name: _PROMISES[name]})
    refusal = refusal_of(name)
    assert refusal is not None
    key = BrokerKeys.table[name]
    shown = "[hidden]" if key.is_sensitive else _PROMISES[name]
    assert str(raised.value) == (
        f"Invalid value {shown} for configuration {name}: {refusal.why} {refusal.instead}"
    )
    default = to_text(key.default_value)
    if default is not None:
        BrokerConfig({**config.static, name: default})


def anybody() -> None:
    """May alter anything."""


@pytest.mark.parametrize("name", sorted(set(_PROMISES) & set(BrokerKeys.table)))
def test_a_promise_is_refused_of_a_running_broker_and_can_always_be_taken_back(name: str) -> None:
    if BrokerKeys.table[name].dynamic is Dynamic.READ_ONLY:
        return
    with pytest.raises(Refused) as raised:
        check_incremental(
            minimal(), (4, "1"), [Alteration(name, 0, _PROMISES[name])], permit=anybody
        )
    assert raised.value.code is ErrorCode.INVALID_REQUEST
    check_incremental(minimal(), (4, "1"), [Alteration(name, 1, None)], permit=anybody)


@pytest.mark.parametrize("name", sorted(set(_PROMISES) & set(TopicKeys.table)))
def test_a_promise_is_refused_of_a_topic_but_one_that_it_came_with_stays(name: str) -> None:
    rules = BrokerConfigRules(minimal())
    given = {name: _PROMISES[name]}
    with pytest.raises(Refused) as raised:
        rules.check(2, "a-topic", given, {})
    assert raised.value.code is ErrorCode.INVALID_CONFIG
    rules.check(2, "a-topic", {}, given)
    if name != "remote.storage.enable":  # refused in Kafka's own words, whatever was before
        rules.check(2, "a-topic", {**given, "retention.ms": "5"}, given)


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"listeners": "SSL://:9092,CONTROLLER://:9093", "advertised_listeners": _PLAIN}, _TLS),
        ({"listeners": f"{_PLAIN},SASL_PLAINTEXT://:9094,CONTROLLER://:9093"}, _GSSAPI),
        ({"listeners": f"{_PLAIN},SASL_SSL://:9094,CONTROLLER://:9093"}, _GSSAPI),
        ({"listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"}, _TLS),
        ({"listener_security_protocol_map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
          "inter_broker_listener_name": "PLAINTEXT"}, _TLS),
        ({"replica_selector_class": "a.Selector"}, "selector.class: .* RackAwareReplicaSelector"),
        ({"max_connections_per_ip_overrides": "a.host:5"}, "Write addresses"),
    ],
)  # fmt: skip
def test_of_keys_that_act_the_values_that_promise_too_much_are_refused(
    properties: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        minimal(**properties)


def test_a_static_quorum_of_this_node_alone_is_what_there_is() -> None:
    minimal(controller_quorum_voters="1@localhost:9093")


def test_keys_of_secured_listeners_say_nothing_without_one() -> None:
    minimal(ssl_keystore_location="/a.pem", ssl_client_auth="required", sasl_jaas_config="x")


def test_a_topics_key_among_the_brokers_is_unknown_and_no_refusal() -> None:
    assert minimal(remote_storage_enable="true").unknown == ("remote.storage.enable",)


def test_a_promise_that_the_metadata_log_brings_along_does_not_keep_a_node_from_starting() -> None:
    config = minimal()
    config.alter(cluster={"leader.replication.throttled.rate": "5"}, broker={})
    assert config.value("leader.replication.throttled.rate") == 5
