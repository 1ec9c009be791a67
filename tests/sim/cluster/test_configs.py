"""Settings of brokers, altered through a broker while the controller is another process."""

from typing import Any

import pytest

from kafkapy.broker.node.node import Node
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from tests.sim.cluster.kit import Kit

TOPIC, BROKER = 2, 4
SET = 0
APART = ("broker",) * 3 + ("controller",)


@pytest.fixture(scope="module")
def kit() -> Kit:
    return Kit(1, APART)


def alter(kit: Kit, *resources: tuple[int, str, str, str], at: int = 1) -> dict[Any, Any]:
    """Each: type, name, key, value. What is answered of each (type, name)."""
    body = {
        "resources": [
            {
                "resource_type": kind,
                "resource_name": name,
                "configs": [{"name": key, "config_operation": SET, "value": value}],
            }
            for kind, name, key, value in resources
        ],
        "validate_only": False,
    }
    answer = kit.client.ask(at, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    return {
        (int(one.resource_type), one.resource_name): (one.error_code, one.error_message)
        for one in answer.responses
    }


def config(kit: Kit, node_id: int) -> Any:
    node = kit.world.hosts[node_id].node
    assert node is not None
    return node.config


def test_a_broker_takes_what_is_said_of_itself(kit: Kit) -> None:
    told = alter(kit, (BROKER, "2", "message.max.bytes", "1234"), at=2)
    assert told == {(BROKER, "2"): (ErrorCode.NONE, None)}
    kit.wait(lambda: config(kit, 2).message_max_bytes == 1234)
    assert config(kit, 1).message_max_bytes != 1234


def test_and_nothing_that_is_said_of_another(kit: Kit) -> None:
    told = alter(kit, (BROKER, "2", "message.max.bytes", "99"), at=1)
    why = "Unexpected broker id, expected 1, but received 2"
    assert told == {(BROKER, "2"): (ErrorCode.INVALID_REQUEST, why)}


def test_what_is_refused_here_is_not_handed_on_with_the_rest(kit: Kit) -> None:
    told = alter(
        kit,
        (BROKER, "1", "num.partitions", "5"),
        (TOPIC, "t", "retention.ms", "77"),
        (BROKER, "3", "message.max.bytes", "99"),
    )
    assert {resource: code for resource, (code, _) in told.items()} == {
        (BROKER, "1"): ErrorCode.INVALID_REQUEST,
        (TOPIC, "t"): ErrorCode.NONE,
        (BROKER, "3"): ErrorCode.INVALID_REQUEST,
    }
    assert "dynamically" in told[BROKER, "1"][1]
    kit.wait(lambda: kit.partition(kit.leader()).log.config.retention_ms == 77)
    assert config(kit, 3).message_max_bytes != 99


def test_defaults_of_all_brokers(kit: Kit) -> None:
    told = alter(kit, (BROKER, "", "log.retention.ms", "4321"))
    assert told == {(BROKER, ""): (ErrorCode.NONE, None)}
    kit.wait(lambda: all(config(kit, one).log_retention_ms == 4321 for one in (1, 2, 3)))


def test_how_logs_are_cleaned_and_producers_kept_is_altered_while_they_are_open(kit: Kit) -> None:
    """Of this broker's life: the values are in the metadata, which no log was opened by."""
    wanted = {
        "producer.id.expiration.ms": "5000",
        "log.cleaner.io.max.bytes.per.second": "100000.0",
        "log.cleaner.dedupe.buffer.size": "200000000",
    }
    for key, value in wanted.items():
        assert alter(kit, (BROKER, "", key, value)) == {(BROKER, ""): (ErrorCode.NONE, None)}

    kit.wait(lambda: all(is_acted_on(kit, one) for one in (1, 2, 3)))
    host = kit.world.hosts[2]
    host.kill()
    host.start()
    kit.wait(lambda: is_acted_on(kit, 2))


def is_acted_on(kit: Kit, node_id: int) -> bool:
    node = kit.world.hosts[node_id].node
    if not isinstance(node, Node) or node.broker is None:
        return False
    directories = node.broker.logs._directories.values()
    cleaners = {
        (one.cleaner.settings.io_max_bytes_per_second, one.cleaner.settings.dedupe_buffer_size)
        for one in directories
    }
    expiries = {log.producers.expiry_ms for one in directories for log in one.logs.values()}
    return cleaners == {(100_000, 200_000_000)} and expiries == {5000}
