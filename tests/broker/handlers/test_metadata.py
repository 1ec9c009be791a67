"""Metadata about some topics: each once, unknown ones too with what may be done to them."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.handlers import metadata as handler
from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages import encode_response
from kafkapy.testing import Broker
from tests.broker.handlers.admin_node import AdminNode
from tests.broker.handlers.whole_node import request, topic_id

UNKNOWN = UUID(int=1 << 70)
ANYTHING, NOT_ASKED = 3576, -(2**31)


@pytest.fixture
def topic(whole_broker: Broker) -> str:
    if "described" not in whole_broker.topics():
        whole_broker.create_topic("described")
    return "described"


def metadata(broker: Broker, version: int, topics: list[dict[str, Any]] | None, **more: Any) -> Any:
    body = {"topics": topics, "allow_auto_topic_creation": False, **more}
    return request(broker, ApiKey.METADATA, version, **body)


def test_all_topics_are_encoded_once_until_the_metadata_changes(
    whole_broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 10,000 partitions it is the one answer that costs something."""
    encoded: list[int] = []

    def counting(api_key: int, version: int, body: Any) -> bytes:
        encoded.append(version)
        return encode_response(api_key, version, body)

    monkeypatch.setattr(handler, "encode_response", counting)
    whole_broker.create_topic("one-more")
    first = metadata(whole_broker, 12, None)
    assert topic in {one.name for one in first.topics}
    assert metadata(whole_broker, 12, None) == first
    assert encoded == [12]
    metadata(whole_broker, 9, None)
    assert encoded == [12, 9]
    whole_broker.create_topic("another")
    assert "another" in {one.name for one in metadata(whole_broker, 12, None).topics}
    assert encoded == [12, 9, 12]


def test_operations_on_the_cluster_are_told_to_who_asks_only(whole_broker: Broker) -> None:
    asking = {"include_cluster_authorized_operations": True}
    for _ in range(2):
        assert metadata(whole_broker, 8, None, **asking).cluster_authorized_operations > 0
        assert metadata(whole_broker, 8, None).cluster_authorized_operations == NOT_ASKED


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


def test_of_a_name_that_no_topic_can_have_no_refusal_is_told() -> None:
    """It would fill the disk with whatever a client makes up; legal names are told once."""
    node = AdminNode()
    node.authorizer = Authorizer((), allows_without_acl=False, journal=node.journal)
    for name in ("n" * 32_000, "no/topic", "..", "orders", "orders"):
        call: Any = SimpleNamespace(peer=Peer("PLAINTEXT", "10.1.2.3"), version=12)
        whole: Any = node
        row = handler._by_name(whole, call, name)
        assert row["error_code"] == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [facts["resource"] for _, facts in node.journal.told] == ["TOPIC:orders"]
