"""A topic's settings: where they come from, what they may be."""

from collections.abc import Sequence

import pytest

from kafkapy.broker.config.topic_config import TopicConfigs, check_topic
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.log.config import LogConfig
from tests.broker.config.kafka import KAFKA, kafkas_config, minimal


def test_without_overrides_a_topic_has_kafkas_defaults() -> None:
    assert TopicConfigs(minimal()).log_config({}) == LogConfig()


def test_an_override_wins_over_the_brokers_key_and_that_over_the_default() -> None:
    topics = TopicConfigs(minimal(log_segment_bytes="2000000"))
    assert topics.log_config({}).segment_bytes == 2_000_000
    assert topics.log_config({"segment.bytes": "3000000"}).segment_bytes == 3_000_000


def test_a_brokers_time_is_converted_to_the_topics_unit() -> None:
    topics = TopicConfigs(minimal(log_retention_hours="2", log_roll_hours="3"))
    assert topics.log_config({}).retention_ms == 2 * 3_600_000
    assert topics.log_config({}).segment_ms == 3 * 3_600_000
    assert TopicConfigs(minimal(log_retention_minutes="-1")).log_config({}).retention_ms == -1


@pytest.mark.parametrize("key", ["log.retention.ms", "log.flush.interval.ms", "log.roll.ms"])
def test_a_brokers_value_that_no_topic_may_have_breaks_none(key: str) -> None:
    """Apache Kafka's brokers take some of these, and a metadata log may have any of them."""
    broker = minimal()
    broker.alter(cluster={key: "-5"}, broker={})
    found = TopicConfigs(broker).log_config({})
    usual = TopicConfigs(minimal()).log_config({})
    assert (found.flush_ms, found.segment_ms) == (
        usual.flush_ms,
        usual.segment_ms,
    )
    assert found.retention_ms == (-1 if key == "log.retention.ms" else usual.retention_ms)


def test_a_dynamic_change_of_the_broker_reaches_topics_that_were_asked_before() -> None:
    broker = minimal()
    topics = TopicConfigs(broker)
    assert topics.log_config({}).max_message_bytes == 1048588
    broker.alter(cluster={"message.max.bytes": "7"}, broker={})
    assert topics.log_config({}).max_message_bytes == 7


def test_the_same_overrides_share_one_config() -> None:
    topics = TopicConfigs(minimal())
    first = topics.log_config({"retention.ms": "5", "flush.ms": "6"})
    assert topics.log_config({"flush.ms": "6", "retention.ms": "5"}) is first


def test_an_internal_segment_size_has_no_lower_bound() -> None:
    topics = TopicConfigs(minimal())
    overrides = {"internal.segment.bytes": "100"}
    check_topic(overrides, minimal(), {})
    assert topics.log_config(overrides).segment_bytes == 100


def test_an_override_that_cannot_be_read_counts_as_not_set() -> None:
    assert TopicConfigs(minimal()).log_config({"retention.ms": "soon"}).retention_ms == 604800000


def _about_settings() -> Sequence[tuple[dict[str, str], str, str | None]]:
    """Answers of Apache Kafka to CreateTopics that turn on the settings alone."""
    return [
        (dict(request[4]), code, message)
        for request, code, message in KAFKA["create_topic"]
        if request[4] and all(value is not None for _, value in request[4])
    ]


@pytest.mark.parametrize(("settings", "code", "message"), _about_settings())
def test_settings_are_refused_in_kafkas_words(
    settings: dict[str, str], code: str, message: str | None
) -> None:
    try:
        check_topic(settings, kafkas_config(), {})
        answer: tuple[str, str | None] = ("none", None)
    except Refused as refused:
        answer = (refused.code.name.lower(), refused.message)
    assert answer == (code, message)


def test_an_unknown_key_is_refused_before_any_value() -> None:
    with pytest.raises(Refused) as raised:
        check_topic({"retention.ms": "x", "foo": "1"}, minimal(), {})
    assert raised.value.code is ErrorCode.INVALID_CONFIG
    assert raised.value.message == "Unknown topic config name: foo"
