"""DescribeConfigs, entry by entry against Apache Kafka with the same server.properties."""

from typing import Any

from kafkapy.broker.config.altering.describe import (
    Described,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)
from tests.broker.config.kafka import KAFKA, kafkas_config, minimal

# A fresh cluster has one dynamic setting of all brokers (KIP-966).
CLUSTER = {"min.insync.replicas": "1"}


def _row(one: Described) -> list[Any]:
    return [
        one.name,
        one.value,
        one.kind.name,
        one.source,
        one.is_read_only,
        one.is_sensitive,
        [list(synonym) for synonym in one.synonyms],
    ]


def _like_kafka() -> Any:
    config = kafkas_config()
    config.alter(cluster=CLUSTER, broker={})
    return config


def test_a_topic_is_described_as_kafka_describes_it() -> None:
    ours = [_row(one) for one in describe_topic(_like_kafka(), {})]
    assert ours == KAFKA["described"]["topic"]


def test_a_group_is_described_as_kafka_describes_it() -> None:
    ours = {row[0]: row for row in map(_row, describe_group(_like_kafka(), {}))}
    assert ours == {row[0]: row for row in KAFKA["described"]["group"]}


def test_client_metrics_are_described_as_kafka_describes_them() -> None:
    ours = [_row(one) for one in describe_client_metrics({})]
    assert ours == KAFKA["described"]["client_metrics"]


def test_the_broker_is_described_as_kafka_describes_it() -> None:
    ours = {row[0]: row for row in map(_row, describe_broker(_like_kafka()))}
    kafkas = {row[0]: row for row in KAFKA["described"]["broker"]}
    assert {name: ours[name] for name in kafkas} == kafkas
    assert len(ours) == len(KAFKA["broker"]) - 3  # the throttles, until they are set


def test_the_cluster_default_lists_what_is_set_for_all_brokers() -> None:
    ours = [_row(one) for one in describe_cluster(_like_kafka())]
    assert ours == KAFKA["described"]["cluster"]


def test_an_override_comes_first_and_says_so() -> None:
    entries = {one.name: one for one in describe_topic(minimal(), {"segment.bytes": "2000000"})}
    entry = entries["segment.bytes"]
    assert (entry.value, entry.source) == ("2000000", 1)
    assert [(one.name, one.value, one.source) for one in entry.synonyms] == [
        ("segment.bytes", "2000000", 1),
        ("log.segment.bytes", "1073741824", 5),
    ]


def test_sensitive_values_are_never_shown() -> None:
    config = minimal(ssl_key_password="hush", unknown_key="perhaps a password")
    for name in ("ssl.key.password", "unknown.key"):
        entry = next(one for one in describe_broker(config) if one.name == name)
        assert entry.is_sensitive
        assert entry.value is None
        assert all(one.value is None for one in entry.synonyms)


def test_a_throttle_shows_once_it_is_set() -> None:
    config = minimal()
    config.alter(cluster={}, broker={"leader.replication.throttled.rate": "5"})
    entries = describe_broker(config)
    names = {one.name for one in entries}
    (entry,) = (one for one in entries if one.name == "leader.replication.throttled.rate")
    assert [(one.value, one.source) for one in entry.synonyms] == [("5", 2)]
    assert "follower.replication.throttled.rate" not in names


def test_documentation_comes_with_every_known_key() -> None:
    assert all(one.documentation for one in describe_broker(minimal()))
