"""What Apache Kafka 4.3.1 says of its keys, recorded (tests/fixtures/config)."""

import json
from pathlib import Path
from typing import Any

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.refusals import refusal_of

_PATH = Path(__file__).parents[2] / "fixtures" / "config" / "kafka-4.3.1.json"
KAFKA: dict[str, Any] = json.loads(_PATH.read_text(encoding="utf-8"))


def kafkas_config() -> BrokerConfig:
    """The configuration of the server that was asked."""
    return BrokerConfig.from_text("\n".join(KAFKA["server_properties"]))


def minimal(**properties: str) -> BrokerConfig:
    """A single node; keyword names with underscores for dots."""
    given = {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    }
    given |= {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig(given)


def is_refused_here(request: Any) -> bool:
    """An alteration of what kafkapy does not keep: it is not taken (test_acted_on.py), where
    Kafka takes it."""
    return any(refusal_of(key) is not None for key, *_ in request[2])
