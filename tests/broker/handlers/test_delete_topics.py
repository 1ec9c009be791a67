"""DeleteTopics in bytes: by name, by id, and what cannot be."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.handlers import delete_topics
from kafkapy.core.errors import ErrorCode
from tests.broker.config.kafka import minimal
from tests.broker.handlers.admin_node import AdminNode

KEY = 20
UNKNOWN = UUID(int=1 << 70)


@pytest.mark.parametrize("version", range(1, 6))
def test_topics_are_deleted_by_name(version: int) -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))
    answer = node.request(delete_topics, KEY, version, topic_names=["t", "nope"], timeout=1000)
    assert [(one.name, ErrorCode(one.error_code)) for one in answer.responses] == [
        ("t", ErrorCode.NONE),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert "t" not in node.image.topics_by_name


def test_topics_are_deleted_by_id_or_name() -> None:
    node = AdminNode()
    by_name = node.cluster.create("named", (1,))
    by_id = node.cluster.create("numbered", (1,))
    asked = [
        {"name": "named", "topic_id": None},
        {"name": None, "topic_id": by_id},
        {"name": None, "topic_id": UNKNOWN},
    ]
    answer = node.request(delete_topics, KEY, 6, topics=asked, timeout=1000)
    assert [(one.name, one.topic_id, ErrorCode(one.error_code)) for one in answer.responses] == [
        ("named", by_name, ErrorCode.NONE),
        ("numbered", by_id, ErrorCode.NONE),  # what is there has its name told
        (None, UNKNOWN, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert not node.image.topics_by_name


def test_what_is_asked_for_wrongly_is_refused_one_by_one() -> None:
    node = AdminNode()
    standing = node.cluster.create("t", (1,))
    asked = [
        {"name": "x", "topic_id": UNKNOWN},
        {"name": None, "topic_id": None},
        {"name": "twice", "topic_id": None},
        {"name": "twice", "topic_id": None},
        {"name": "t", "topic_id": None},
        {"name": None, "topic_id": standing},
    ]
    answer = node.request(delete_topics, KEY, 6, topics=asked, timeout=1000)
    assert {ErrorCode(one.error_code) for one in answer.responses} == {ErrorCode.INVALID_REQUEST}
    assert len(answer.responses) == 5
    assert "t" in node.image.topics_by_name


def test_that_a_topic_is_not_there_is_said_once_that_is_committed() -> None:
    """It was deleted a moment ago: were we to fall now, it would be there again."""
    node = AdminNode()
    node.cluster.create("t", (1,))
    node.cluster.log.holds_back = True
    first = node.ask(delete_topics, KEY, 5, topic_names=["t"], timeout=1000)
    second = node.ask(delete_topics, KEY, 5, topic_names=["t"], timeout=1000)
    assert not first.is_resolved
    assert not second.is_resolved
    node.cluster.log.commit()
    answers: list[Any] = [first.answer, second.answer]
    codes = [ErrorCode(one.responses[0].error_code) for one in answers]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_who_leads_no_more_knows_no_topics() -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))
    node.controller.resign()
    answer = node.request(delete_topics, KEY, 5, topic_names=["t", "nope"], timeout=1000)
    codes = [ErrorCode(one.error_code) for one in answer.responses]
    assert codes == [ErrorCode.NOT_CONTROLLER] * 2


@pytest.mark.parametrize(
    ("version", "code"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_deleting_can_be_switched_off(version: int, code: ErrorCode) -> None:
    node = AdminNode(config=minimal(delete_topic_enable="false"))
    node.cluster.create("t", (1,))
    answer = node.request(delete_topics, KEY, version, topic_names=["t"], timeout=1000)
    assert answer.responses[0].error_code == code
    assert "t" in node.image.topics_by_name


def test_what_clients_delete_is_told_in_the_log() -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))
    node.request(delete_topics, KEY, 5, topic_names=["t", "nope"], timeout=1000)
    told = {"topic": "t", "client": "test", "peer": "127.0.0.1"}
    assert node.journal.told == [("topic deleted", told)]
