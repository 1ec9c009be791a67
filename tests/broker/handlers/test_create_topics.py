"""CreateTopics in bytes: every version, Kafka's own answers, and when the answer leaves."""

from typing import Any

import pytest

from kafkapy.broker.handlers import create_topics
from kafkapy.core.errors import ErrorCode
from tests.broker.config.kafka import KAFKA
from tests.broker.handlers.admin_node import AdminNode

KEY = 19


def _topic(
    name: str, partitions: int = 1, factor: int = 1, assignments: Any = (), configs: Any = ()
) -> dict[str, Any]:
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": factor,
        "assignments": [
            {"partition_index": index, "broker_ids": replicas} for index, replicas in assignments
        ],
        "configs": [{"name": key, "value": value} for key, value in configs],
    }


def _create(node: AdminNode, *topics: dict[str, Any], version: int = 7, **fields: Any) -> Any:
    body = {"topics": list(topics), "timeout": 1000, "validate_only": False} | fields
    return node.request(create_topics, KEY, version, **body)


@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_creates(version: int) -> None:
    node = AdminNode()
    (result,) = _create(node, _topic("t", 3), version=version).topics
    assert result.error_code == ErrorCode.NONE
    topic = node.image.topics_by_name["t"]
    assert len(topic.partitions) == 3
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        assert len(result.configs) == 33
    if version >= 7:
        assert result.topic_id == topic.id


@pytest.mark.parametrize(("request_", "code", "message"), KAFKA["create_topic"])
def test_what_kafka_refuses_is_refused_in_its_words(
    request_: Any, code: str, message: str | None
) -> None:
    node = AdminNode()
    _create(node, _topic("orders", 2))
    (result,) = _create(node, _topic(*request_), validate_only=True).topics
    assert (ErrorCode(result.error_code).name.lower(), result.error_message) == (code, message)


def test_the_settings_in_force_come_with_their_sources() -> None:
    node = AdminNode()
    (result,) = _create(node, _topic("t", configs=[("retention.ms", "5")])).topics
    settings = {one.name: (one.value, one.config_source) for one in result.configs}
    assert settings["retention.ms"] == ("5", 1)
    assert settings["min.insync.replicas"] == ("1", 3)
    assert settings["segment.bytes"] == ("1073741824", 5)


def test_a_name_that_comes_twice_is_answered_once() -> None:
    answer = _create(AdminNode(), _topic("twice"), _topic("twice"), _topic("once"))
    assert [(one.name, ErrorCode(one.error_code)) for one in answer.topics] == [
        ("twice", ErrorCode.INVALID_REQUEST),
        ("once", ErrorCode.NONE),
    ]


def test_the_answer_waits_until_the_new_topic_is_served() -> None:
    node = AdminNode()
    node.serves_at_once = False
    body = {"topics": [_topic("t")], "timeout": 1000, "validate_only": False}
    later = node.ask(create_topics, KEY, 7, **body)
    assert not later.is_resolved
    node.waiting[0]()
    assert later.is_resolved
    node.clock.advance(2000)


def test_after_its_timeout_the_answer_is_given_anyway() -> None:
    node = AdminNode()
    node.serves_at_once = False
    body = {"topics": [_topic("t")], "timeout": 1000, "validate_only": False}
    later = node.ask(create_topics, KEY, 7, **body)
    node.clock.advance(1000)
    assert later.is_resolved
    node.waiting[0]()


def test_without_a_controller_every_topic_says_so() -> None:
    node = AdminNode()
    node.controller.resign()
    (result,) = _create(node, _topic("t")).topics
    assert result.error_code == ErrorCode.NOT_CONTROLLER


def test_what_clients_create_is_told_in_the_log() -> None:
    node = AdminNode()
    _create(node, _topic("t"), validate_only=True)
    assert not node.journal.told
    _create(node, _topic("t"), _topic("not possible", 0))
    told = {"topic": "t", "client": "test", "peer": "127.0.0.1"}
    assert node.journal.told == [("topic created", told)]
