"""Cordoned log directories: told by the broker, and heard of by the controller."""

from typing import Any

import pytest

from kafkapy.core.errors import Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.whole_node import request

BROKER = 4


def cordon(broker: Broker, directories: str) -> None:
    config = {"name": "cordoned.log.dirs", "config_operation": 0, "value": directories}
    row = {"resource_type": BROKER, "resource_name": "1", "configs": [config]}
    body: dict[str, Any] = {"resources": [row], "validate_only": False}
    answer = request(broker, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, **body)
    assert answer.responses[0].error_code == 0, answer


def is_cordoned(broker: Broker) -> bool:
    answer = request(broker, ApiKey.DESCRIBE_LOG_DIRS, 5, topics=None)
    (directory,) = answer.results
    told: bool = directory.is_cordoned
    return told


def test_the_controller_hears_of_cordoned_directories_and_places_nothing_there() -> None:
    settings = {"broker.heartbeat.interval.ms": "20"}
    with Broker(settings) as broker:
        assert not is_cordoned(broker)
        cordon(broker, "*")
        assert is_cordoned(broker)
        assert refused_at_last(broker)
        cordon(broker, "")
        assert not is_cordoned(broker)


def refused_at_last(broker: Broker) -> bool:
    """A heartbeat tells the controller; until it has come, topics are still created."""
    for number in range(2000):
        try:
            broker.create_topic(f"topic-{number}")
        except Refused:
            return True
    return False


@pytest.mark.parametrize("version", range(1, 5))
def test_old_versions_do_not_tell(whole_broker: Broker, version: int) -> None:
    answer = request(whole_broker, ApiKey.DESCRIBE_LOG_DIRS, version, topics=None)
    assert not hasattr(answer.results[0], "is_cordoned")
