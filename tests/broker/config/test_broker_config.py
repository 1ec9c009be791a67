"""The configuration object: layers, types, bad values."""

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError
from tests.broker.config.kafka import kafkas_config, minimal


def test_settings_are_typed_attributes() -> None:
    config = kafkas_config()
    assert config.node_id == 1
    assert config.auto_create_topics_enable is False
    assert config.process_roles == ("broker", "controller")
    assert config.log_cleaner_min_cleanable_ratio == 0.5
    assert config.log_retention_ms is None


def test_what_is_not_given_has_its_default() -> None:
    assert minimal().num_partitions == 1
    assert minimal(num_partitions="8").num_partitions == 8


def test_node_id_and_broker_id_are_two_names_of_one_thing() -> None:
    assert minimal().broker_id == 1
    with pytest.raises(ConfigError, match=r"broker\.id.*must equal node\.id, which is 1"):
        minimal(broker_id="2")


def test_a_bad_value_names_the_key_the_value_and_what_is_allowed() -> None:
    with pytest.raises(ConfigError) as raised:
        minimal(num_partitions="0")
    assert str(raised.value) == (
        "Invalid value 0 for configuration num.partitions: Value must be at least 1"
    )


def test_a_missing_key_without_default_is_named() -> None:
    with pytest.raises(ConfigError, match=r"node\.id: it must be set"):
        BrokerConfig({"process.roles": "broker", "controller.listener.names": "CONTROLLER"})


def test_unknown_keys_are_listed_not_refused() -> None:
    assert minimal(log_retention_days="3").unknown == ("log.retention.days",)
    assert kafkas_config().unknown == ()


def test_a_prefixed_value_is_judged_too() -> None:
    with pytest.raises(ConfigError, match="Not a number of type INT"):
        BrokerConfig(dict(minimal().static) | {"listener.name.plaintext.max.connections": "x"})


def test_dynamic_layers_win_over_the_file_and_this_broker_over_all() -> None:
    config = minimal(message_max_bytes="1000")
    changed = config.alter(cluster={"message.max.bytes": "2000"}, broker={})
    assert config.message_max_bytes == 2000
    assert changed == {"message.max.bytes"}
    config.alter(cluster={"message.max.bytes": "2000"}, broker={"message.max.bytes": "3000"})
    assert config.message_max_bytes == 3000
    config.alter(cluster={}, broker={})
    assert config.message_max_bytes == 1000


def test_who_asked_hears_what_was_altered() -> None:
    config = minimal()
    heard: list[frozenset[str]] = []
    config.when_altered(heard.append)
    config.alter(cluster={"log.retention.ms": "5"}, broker={"background.threads": "9"})
    config.alter(cluster={"log.retention.ms": "5"}, broker={"background.threads": "9"})
    assert heard == [{"log.retention.ms", "background.threads"}]


def test_a_dynamic_value_that_cannot_be_read_counts_as_not_set() -> None:
    config = minimal()
    config.alter(cluster={"message.max.bytes": "much", "of.another.version": "1"}, broker={})
    assert config.message_max_bytes == 1048588


def test_what_is_read_at_the_start_alone_is_not_altered_by_what_the_metadata_says() -> None:
    config = minimal(log_dirs="/a", max_connections="7")
    config.alter(
        cluster={"log.dirs": "/b", "ssl.keystore.location": "/c", "num.io.threads": "9"},
        broker={"log.dirs": "/d", "max.connections": "8"},
    )
    assert (config.log_dirs, config.ssl_keystore_location) == (("/a",), None)
    assert (config.num_io_threads, config.max_connections) == (9, 8)


def test_a_time_can_be_said_in_minutes_or_hours() -> None:
    assert minimal().time_ms("log.retention.ms") == 168 * 3_600_000
    assert minimal(log_retention_hours="1").time_ms("log.retention.ms") == 3_600_000
    both = minimal(log_retention_hours="1", log_retention_minutes="2")
    assert both.time_ms("log.retention.ms") == 120_000
    assert minimal(log_retention_ms="3").time_ms("log.retention.ms") == 3


def test_a_listener_can_have_its_own_value() -> None:
    config = BrokerConfig(
        dict(minimal().static)
        | {
            "listener.name.plaintext.max.connections": "5",
            "listener.name.plaintext.scram-sha-256.sasl.jaas.config": "mine",
            "sasl.jaas.config": "everybody's",
        }
    )
    assert config.listener_value("PLAINTEXT", "max.connections") == 5
    assert config.listener_value("CONTROLLER", "max.connections") == 2**31 - 1
    assert config.listener_value("PLAINTEXT", "sasl.jaas.config", "SCRAM-SHA-256") == "mine"
    assert config.listener_value("PLAINTEXT", "sasl.jaas.config", "PLAIN") == "everybody's"


def test_log_dirs_wins_over_log_dir() -> None:
    assert minimal(log_dir="/a").data_directories == ("/a",)
    assert minimal(log_dir="/a", log_dirs="/b,/c").data_directories == ("/b", "/c")
    assert minimal(log_dirs="/b,/c").metadata_directory == "/b"
    assert minimal(log_dirs="/b", metadata_log_dir="/m").metadata_directory == "/m"
