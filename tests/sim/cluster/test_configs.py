"""Settings of brokers, altered through a broker while the controller is another process."""

from typing import Any

import pytest

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
