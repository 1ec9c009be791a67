"""A group's settings within the broker's bounds."""

import pytest

from kafkapy.broker.config.group_config import check_group, group_value
from kafkapy.core.errors import ErrorCode, Refused
from tests.broker.config.kafka import minimal


def test_a_group_has_the_brokers_values_until_it_has_its_own() -> None:
    broker = minimal(group_consumer_session_timeout_ms="50000")
    assert group_value("consumer.session.timeout.ms", {}, broker) == 50_000
    own = {"consumer.session.timeout.ms": "55000"}
    assert group_value("consumer.session.timeout.ms", own, broker) == 55_000
    assert group_value("share.auto.offset.reset", {}, broker) == "latest"
    assert group_value("share.renew.acknowledge.enable", {}, broker) is True


def test_a_value_outside_of_bounds_that_have_moved_counts_as_the_bound() -> None:
    broker = minimal(group_consumer_max_session_timeout_ms="50000")
    own = {"consumer.session.timeout.ms": "60000"}
    assert group_value("consumer.session.timeout.ms", own, broker) == 50_000


def test_a_heartbeat_as_long_as_the_session_is_refused() -> None:
    broker = minimal(
        group_consumer_max_heartbeat_interval_ms="60000",
        group_consumer_min_session_timeout_ms="1000",
    )
    with pytest.raises(Refused) as raised:
        check_group("g", {"consumer.heartbeat.interval.ms": "45000"}, broker)
    assert raised.value.code is ErrorCode.INVALID_CONFIG
