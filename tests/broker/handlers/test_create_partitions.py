"""CreatePartitions in bytes."""

import pytest

from kafkapy.broker.handlers import create_partitions
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.admin_node import AdminNode
from tests.broker.handlers.whole_node import request

KEY = 37


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_and_every_topic_is_answered(version: int) -> None:
    node = AdminNode(brokers=2)
    node.cluster.create("t", (1,))
    node.cluster.create("assigned", (1,))
    topics = [
        {"name": "t", "count": 3, "assignments": None},
        {"name": "assigned", "count": 2, "assignments": [{"broker_ids": [2]}]},
        {"name": "nope", "count": 3, "assignments": None},
        {"name": "twice", "count": 3, "assignments": None},
        {"name": "twice", "count": 3, "assignments": None},
    ]
    answer = node.request(
        create_partitions, KEY, version, topics=topics, timeout=1000, validate_only=False
    )
    assert {one.name: ErrorCode(one.error_code) for one in answer.results} == {
        "t": ErrorCode.NONE,
        "assigned": ErrorCode.NONE,
        "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "twice": ErrorCode.INVALID_REQUEST,
    }
    assert len(node.image.topics_by_name["t"].partitions) == 3
    assert node.cluster.partition("assigned", 1).replicas == (2,)


def test_without_a_controller_every_topic_says_so() -> None:
    node = AdminNode()
    node.controller.resign()
    topics = [{"name": "t", "count": 3, "assignments": None}]
    answer = node.request(
        create_partitions, KEY, 3, topics=topics, timeout=1000, validate_only=False
    )
    assert answer.results[0].error_code == ErrorCode.NOT_CONTROLLER


def test_on_a_lone_node_new_partitions_serve_once_the_answer_is_there(
    whole_broker: Broker,
) -> None:
    """Apache Kafka answers when the records are committed, perhaps a moment earlier."""
    whole_broker.create_topic("growing")
    for count in range(2, 12):
        row = {"name": "growing", "count": count, "assignments": None}
        body = {"topics": [row], "timeout": 5000, "validate_only": False}
        request(whole_broker, ApiKey.CREATE_PARTITIONS, 3, **body)
        whole_broker.produce("growing", b"v", partition=count - 1)
