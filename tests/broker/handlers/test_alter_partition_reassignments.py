"""AlterPartitionReassignments in bytes."""

from typing import Any

import pytest

from kafkapy.broker.handlers import alter_partition_reassignments
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode
from tests.kraft.controller.fakes import directory_of

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


def test_a_partition_that_is_named_twice_is_moved_nowhere() -> None:
    """Two records about one partition, both made of what it was before: applied one after the
    other they make something that never was, or nothing that can be applied at all."""
    node = AdminNode()
    for broker in (2, 3):
        node.cluster.join(broker, log_dirs=(directory_of(broker), directory_of(broker, 1)))
    node.cluster.create("t", (2, 3), (2, 3))
    before = node.cluster.partition("t")
    rows = [{"partition_index": index, "replicas": to} for index, to in _TWICE]
    topics = [{"name": "t", "partitions": rows}]
    answer = node.request(alter_partition_reassignments, KEY, 1, topics=topics, timeout=1000)
    (topic,) = answer.responses
    assert [(one.partition_index, ErrorCode(one.error_code)) for one in topic.partitions] == [
        (0, ErrorCode.INVALID_REQUEST),
        (1, ErrorCode.NONE),
        (0, ErrorCode.INVALID_REQUEST),
    ]
    assert node.cluster.partition("t") == before
    assert node.cluster.partition("t", 1).replicas == (3, 2)


_TWICE = [(0, [2]), (1, [3, 2]), (0, [3, 2])]


def test_a_partition_that_is_named_twice_with_one_target_is_moved() -> None:
    node = AdminNode(brokers=3)
    node.cluster.create("t", (2, 3))
    rows = [{"partition_index": 0, "replicas": [3, 2]}] * 2
    topics = [{"name": "t", "partitions": rows}]
    answer = node.request(alter_partition_reassignments, KEY, 1, topics=topics, timeout=1000)
    (topic,) = answer.responses
    assert [ErrorCode(one.error_code) for one in topic.partitions] == [ErrorCode.NONE] * 2
    assert node.cluster.partition("t").replicas == (3, 2)
