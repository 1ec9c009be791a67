"""ElectLeaders in bytes."""

from typing import Any

import pytest

from kafkapy.broker.handlers import elect_leaders
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode

KEY = 43


def _elect(node: AdminNode, topics: Any, *, version: int = 2, **fields: Any) -> Any:
    asked = topics and [{"topic": name, "partitions": list(at)} for name, at in topics.items()]
    body = {"topic_partitions": asked, "timeout": 1000} | fields
    answer = node.request(elect_leaders, KEY, version, **body)
    rows = {
        topic.topic: {one.partition_id: ErrorCode(one.error_code) for one in topic.partition_result}
        for topic in answer.replica_election_results
    }
    return (ErrorCode(answer.error_code) if version else None), rows


@pytest.mark.parametrize("version", range(3))
def test_every_partition_asked_for_is_answered(version: int) -> None:
    node = AdminNode(brokers=2)
    node.cluster.create("t", (1, 2))
    _, rows = _elect(node, {"t": [0, 7], "nope": [0]}, version=version)
    assert rows == {
        "t": {0: ErrorCode.ELECTION_NOT_NEEDED, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        "nope": {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
    }


def test_all_topics_are_named_but_only_partitions_with_something_to_say() -> None:
    node = AdminNode(brokers=2)
    node.cluster.create("quiet", (2,))
    node.cluster.create("t", (1, 2))
    node.cluster.fence(1)
    assert _elect(node, None) == (
        ErrorCode.NONE,
        {"quiet": {}, "t": {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}},
    )


def test_an_unclean_election_is_another_type() -> None:
    node = AdminNode(brokers=2)
    node.cluster.create("t", (1, 2))
    node.cluster.fence(2)
    node.cluster.fence(1)
    node.cluster.unfence(2)
    code, rows = _elect(node, {"t": [0]}, election_type=1)
    assert (code, rows) == (ErrorCode.NONE, {"t": {0: ErrorCode.NONE}})
    assert node.cluster.partition("t").leader == 2


def test_an_unknown_type_of_election_is_refused_everywhere() -> None:
    code, rows = _elect(AdminNode(), {"t": [0]}, election_type=7)
    assert (code, rows) == (ErrorCode.INVALID_REQUEST, {"t": {0: ErrorCode.INVALID_REQUEST}})


def test_without_a_controller_the_answer_says_so() -> None:
    node = AdminNode()
    node.controller.resign()
    assert _elect(node, {"t": [0]})[0] is ErrorCode.NOT_CONTROLLER
