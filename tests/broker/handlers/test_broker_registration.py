"""BrokerRegistration in bytes."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.handlers import broker_registration
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.records.metadata import Endpoint
from tests.broker.handlers.admin_node import AdminNode
from tests.kraft.controller.fakes import CLUSTER_ID, FEATURES, directory_of

KEY = 62


def _body(version: int, **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "broker_id": 5,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": UUID(int=77),
        "listeners": [{"name": "A", "host": "h", "port": 1, "security_protocol": 0}],
        "features": [
            {
                "name": one.name,
                "min_supported_version": one.min_supported_version,
                "max_supported_version": one.max_supported_version,
            }
            for one in FEATURES
        ],
        "rack": "r",
    }
    if version >= 2:
        body["log_dirs"] = [directory_of(5)]
    return body | fields


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_broker_registers(version: int) -> None:
    node = AdminNode()
    answer = node.request(broker_registration, KEY, version, **_body(version))
    assert answer.error_code == ErrorCode.NONE
    broker = node.image.brokers[5]
    assert (broker.epoch, broker.rack) == (answer.broker_epoch, "r")
    assert broker.endpoints == (Endpoint(name="A", host="h", port=1, security_protocol=0),)
    assert broker.log_dirs == (directory_of(5),)


@pytest.mark.parametrize("version", [0, 1])
def test_a_broker_too_old_to_name_its_directories_is_refused(version: int) -> None:
    answer = AdminNode().request(broker_registration, KEY, version, **_body(version))
    assert answer.error_code == ErrorCode.INVALID_REGISTRATION


def test_a_broker_of_another_cluster_is_refused() -> None:
    body = _body(4, cluster_id="other")
    answer = AdminNode().request(broker_registration, KEY, 4, **body)
    assert (answer.error_code, answer.broker_epoch) == (ErrorCode.INCONSISTENT_CLUSTER_ID, -1)
