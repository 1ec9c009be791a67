"""AlterPartitionReassignments in bytes."""

from typing import Any

import pytest

from kafkapy.broker.handlers import alter_partition_reassignments
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode

KEY = 45


def _move(node: AdminNode, partitions: Any, *, version: int = 1, **fields: Any) -> Any:
    rows = [{"partition_index": index, "replicas": to} for index, to in partitions.items()]
    body = {"topics": [{"name": "t", "partitions": rows}], "timeout": 1000} | fields
    return node.request(alter_partition_reassignments, KEY, version, **body)


def _codes(answer: Any) -> dict[int, ErrorCode]:
    (topic,) = answer.responses
    return {one.partition_index: ErrorCode(one.error_code) for one in topic.partitions}


@pytest.mark.parametrize("version", [0, 1])
def test_each_partition_has_its_own_verdict(version: int) -> None:
    node = AdminNode(brokers=3)
    node.cluster.create("t", (1, 2), (2, 3), (3, 1))
    answer = _move(node, {0: [2, 3], 1: [9], 2: None, 5: [1]}, version=version)
    assert _codes(answer) == {
        0: ErrorCode.NONE,
        1: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        2: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert node.cluster.partition("t").adding_replicas == (3,)


def test_the_replication_factor_may_be_held() -> None:
    node = AdminNode(brokers=3)
    node.cluster.create("t", (1, 2))
    answer = _move(node, {0: [1]}, allow_replication_factor_change=False)
    assert answer.allow_replication_factor_change is False
    assert _codes(answer) == {0: ErrorCode.INVALID_REPLICATION_FACTOR}


def test_without_a_controller_the_answer_says_so() -> None:
    node = AdminNode()
    node.controller.resign()
    answer = _move(node, {0: [1]})
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert answer.error_message == "No controller appears to be active."
    assert _codes(answer) == {0: ErrorCode.NOT_CONTROLLER}
