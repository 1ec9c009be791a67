"""Settings that must fit one another."""

import pytest

from kafkapy.broker.config.combinations import RULES
from kafkapy.broker.config.table.broker_keys import BrokerKeys
from kafkapy.broker.config.table.values import ConfigError
from tests.broker.config.kafka import minimal


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ({"log_retention_hours": "0"}, r"log\.retention\.ms: it must be -1"),
        ({"log_roll_ms": "0"}, r"Invalid value 0 for configuration log\.roll\.ms"),
        ({"log_roll_ms": "-5"}, r"Invalid value -5 for configuration log\.roll\.ms"),
        ({"log_roll_jitter_ms": "-5"}, r"log\.roll\.jitter\.ms"),
        ({"controller_quorum_voters": "2@b:9093,3@c:9093"}, "must name this node"),
        ({"controller_quorum_voters": "1@a:9093,2@b:9093,2@c:9093"}, "an id of its own"),
        ({"controller_quorum_voters": "1@a:9999,2@b:9093,3@c:9093"}, "its controller listener"),
        (
            {
                "process_roles": "broker",
                "listeners": "PLAINTEXT://:9092",
                "controller_quorum_voters": "1@a:9093",
            },
            "must not name this node",
        ),
        (
            {"process_roles": "broker", "listeners": "PLAINTEXT://:9092"},
            "controller.quorum.bootstrap.servers: a broker needs it",
        ),
        (
            {"log_cleaner_min_compaction_lag_ms": "9", "log_cleaner_max_compaction_lag_ms": "5"},
            "greater than or equal to log.cleaner.min.compaction.lag.ms",
        ),
        ({"replica_fetch_wait_max_ms": "31000"}, "replica.socket.timeout.ms"),
        ({"replica_lag_time_max_ms": "400"}, "replica.lag.time.max.ms"),
        ({"broker_heartbeat_interval_ms": "5000"}, "at most half of broker.session.timeout.ms"),
        ({"group_min_session_timeout_ms": "2000000"}, "group.min.session.timeout.ms"),
        (
            {
                "security_inter_broker_protocol": "PLAINTEXT",
                "inter_broker_listener_name": "PLAINTEXT",
            },
            "only one of it and inter.broker.listener.name",
        ),
        (
            {"group_consumer_session_timeout_ms": "30000"},
            "greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {"group_share_heartbeat_interval_ms": "20000"},
            "less than or equal to group.share.max.heartbeat.interval.ms",
        ),
        (
            {
                "group_streams_min_session_timeout_ms": "5000",
                "group_streams_session_timeout_ms": "5000",
            },
            "greater than group.streams.heartbeat.interval.ms",
        ),
        (
            {"group_share_record_lock_duration_ms": "10000"},
            "group.share.min.record.lock.duration.ms",
        ),
    ],
)
def test_what_does_not_fit_stops_the_start(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        minimal(**properties)


def test_the_rules_are_about_keys_that_exist() -> None:
    assert {rule.key for rule in RULES} <= set(BrokerKeys.table)


def test_retention_for_ever_fits() -> None:
    assert minimal(log_retention_ms="-1").time_ms("log.retention.ms") == -1
