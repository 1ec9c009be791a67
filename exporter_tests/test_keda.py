"""KEDA's own scalers, of both its Kafka clients, read lag from a node."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exporter_tests.conftest import commit
from kafkapy.testing import Broker

BOTH = pytest.mark.parametrize("client", ["kafka", "apache-kafka"])


def _asked(keda: Path, client: str, node: Broker, **more: object) -> dict[str, Any]:
    metadata = {"bootstrapServers": node.bootstrap, "topic": "orders", "lagThreshold": 10, **more}
    pairs = [f"{name}={value}" for name, value in metadata.items()]
    told = subprocess.run([keda, client, *pairs], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    answer: dict[str, Any] = json.loads(told.stdout)
    return answer


@BOTH
def test_lag_is_what_has_not_been_read(keda: Path, node: Broker, client: str) -> None:
    answer = _asked(keda, client, node, consumerGroup="billing", allowIdleConsumers="true")
    assert answer == {"is_active": True, "value": 135, "target": 10}


@BOTH
def test_no_more_consumers_than_partitions(keda: Path, node: Broker, client: str) -> None:
    """135 would be 14 consumers of ten records each."""
    assert _asked(keda, client, node, consumerGroup="billing")["value"] == 30
    busy = {"limitToPartitionsWithLag": "true"}
    assert _asked(keda, client, node, consumerGroup="billing", **busy)["value"] == 20


@BOTH
def test_lag_goes_up_and_down_again(keda: Path, node: Broker, client: str) -> None:
    group = f"scaled-{client}"
    for offsets, value in (([99, 100, 100], 1), ([90, 90, 95], 25), ([100, 100, 100], 0)):
        commit(node, group, offsets)
        answer = _asked(keda, client, node, consumerGroup=group)
        assert answer == {"is_active": value > 0, "value": value, "target": 10}


@BOTH
def test_a_group_that_has_read_nothing_is_told_by_the_policy(
    keda: Path, node: Broker, client: str
) -> None:
    new = {"consumerGroup": "nobody-yet", "allowIdleConsumers": "true"}
    earliest = _asked(keda, client, node, offsetResetPolicy="earliest", **new)
    assert earliest["value"] == 300
    latest = _asked(keda, client, node, offsetResetPolicy="latest", **new)
    assert latest["value"] in (1, 3), "one for each partition, or for the group"
