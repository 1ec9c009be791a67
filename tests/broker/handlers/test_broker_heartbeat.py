"""BrokerHeartbeat in bytes."""

from typing import Any

import pytest

from kafkapy.broker.handlers import broker_heartbeat
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode
from tests.kraft.controller.fakes import directory_of

KEY = 63


def _beat(node: AdminNode, version: int, **fields: Any) -> Any:
    body = {
        "broker_id": 2,
        "broker_epoch": node.image.brokers[2].epoch,
        "current_metadata_offset": 1000,
        "want_fence": False,
        "want_shut_down": False,
    } | fields
    return node.request(broker_heartbeat, KEY, version, **body)


@pytest.mark.parametrize("version", range(3))
def test_a_heartbeat_is_answered_with_where_the_broker_stands(version: int) -> None:
    node = AdminNode(brokers=2)
    serving = _beat(node, version)
    assert (serving.error_code, serving.is_caught_up, serving.is_fenced) == (0, True, False)
    fenced = _beat(node, version, want_fence=True)
    assert (fenced.is_fenced, fenced.should_shut_down) == (True, False)
    leaving = _beat(node, version, want_shut_down=True)
    assert leaving.should_shut_down


def test_directories_are_told_in_later_versions() -> None:
    node = AdminNode(brokers=2)
    _beat(node, 2, cordoned_log_dirs=[directory_of(2)])
    assert node.image.brokers[2].cordoned_log_dirs == (directory_of(2),)
    _beat(node, 2)
    assert node.image.brokers[2].cordoned_log_dirs == (directory_of(2),)
    node.cluster.create("t", (2, 1))
    _beat(node, 1, offline_log_dirs=[directory_of(2)])
    assert node.cluster.partition("t").leader == 1


def test_a_stale_broker_is_told_so() -> None:
    node = AdminNode(brokers=2)
    answer = _beat(node, 2, broker_epoch=999)
    assert (answer.error_code, answer.is_fenced) == (ErrorCode.STALE_BROKER_EPOCH, True)
