"""Metadata about some topics: each once, unknown ones too with what may be done to them."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.whole_node import request, topic_id

UNKNOWN = UUID(int=1 << 70)
ANYTHING, NOT_ASKED = 3576, -(2**31)


@pytest.fixture
def topic(whole_broker: Broker) -> str:
    if "described" not in whole_broker.topics():
        whole_broker.create_topic("described")
    return "described"


def metadata(broker: Broker, version: int, topics: list[dict[str, Any]], **more: Any) -> Any:
    body = {"topics": topics, "allow_auto_topic_creation": False, **more}
    return request(broker, ApiKey.METADATA, version, **body)


@pytest.mark.parametrize("version", [1, 8, 12, 13])
def test_a_topic_asked_twice_is_told_once(whole_broker: Broker, topic: str, version: int) -> None:
    answer = metadata(whole_broker, version, [{"name": topic}, {"name": topic}])
    assert [one.name for one in answer.topics] == [topic]


@pytest.mark.parametrize("name", ["no-such-topic", "bad/name"])
def test_what_is_not_there_may_be_done_anything_to(whole_broker: Broker, name: str) -> None:
    answer = metadata(whole_broker, 9, [{"name": name}], include_topic_authorized_operations=True)
    assert answer.topics[0].topic_authorized_operations == ANYTHING


def test_an_unknown_id_has_no_name_to_be_allowed_anything_for(whole_broker: Broker) -> None:
    rows = [{"name": None, "topic_id": UNKNOWN}]
    answer = metadata(whole_broker, 12, rows, include_topic_authorized_operations=True)
    assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert answer.topics[0].topic_authorized_operations == NOT_ASKED


def test_names_beside_ids_are_passed_over(whole_broker: Broker, topic: str) -> None:
    rows: list[dict[str, Any]] = [{"name": topic}, {"name": None, "topic_id": UNKNOWN}]
    answer = metadata(whole_broker, 12, rows)
    assert [(one.name, one.topic_id) for one in answer.topics] == [(None, UNKNOWN)]


@pytest.mark.parametrize("version", [10, 11])
def test_ids_are_refused_topic_by_topic_where_they_cannot_be_asked(
    whole_broker: Broker, topic: str, version: int
) -> None:
    known = topic_id(whole_broker, topic)
    answer = metadata(whole_broker, version, [{"name": None, "topic_id": known}, {"name": "x"}])
    assert [(one.name, one.topic_id, one.error_code) for one in answer.topics] == [
        ("", known, ErrorCode.INVALID_REQUEST),
        ("x", None, ErrorCode.INVALID_REQUEST),
    ]
    assert (answer.brokers, answer.cluster_id, answer.controller_id) == ((), None, -1)
