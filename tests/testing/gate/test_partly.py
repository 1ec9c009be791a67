"""A Produce to several topics of which a fault is about one."""

from typing import Any

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.main import Failed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.testing import Broker
from kafkapy.testing.errors import NOT_LEADER_OR_FOLLOWER

TOPICS = ("first", "orders", "last")


@pytest.fixture
def made(kafka: Broker) -> Broker:
    for topic in TOPICS:
        kafka.create_topic(topic, partitions=2)
    return kafka


def produce(kafka: Broker, version: int, topics: tuple[str, ...] = TOPICS, acks: int = -1) -> Any:
    """A record to both partitions of each."""
    batch = build_batch([NewRecord(b"k", b"v", 1)])
    rows = [{"index": index, "records": batch} for index in (1, 0)]
    with Client(kafka.bootstrap) as client:
        ids = {one.name: one.topic_id for one in client.metadata(list(topics)).topics}
        topic_data = [
            {
                **({"topic_id": ids[topic]} if version >= 13 else {"name": topic}),
                "partition_data": rows,
            }
            for topic in topics
        ]
        body = {
            "transactional_id": None,
            "acks": acks,
            "timeout": 1000,
            "topic_data": topic_data,
        }
        answer = client._ask(ApiKey.PRODUCE, version, body)
        named = {ids[topic]: topic for topic in topics}
        return [
            (
                named[topic.topic_id] if version >= 13 else topic.name,
                [(one.index, one.error_code, one.base_offset) for one in topic.partition_responses],
            )
            for topic in answer.responses
        ]


@pytest.mark.parametrize("version", range(3, 14))
def test_the_other_topics_are_written_and_answered(made: Broker, version: int) -> None:
    made.faults.on("Produce", topic="orders").error(NOT_LEADER_OR_FOLLOWER).once()
    good = [(1, ErrorCode.NONE, 0), (0, ErrorCode.NONE, 0)]
    bad = [(1, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), (0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]
    assert produce(made, version) == [("first", good), ("orders", bad), ("last", good)]
    assert [len(made.records(topic)) for topic in TOPICS] == [2, 0, 2]
    after = [(index, ErrorCode.NONE, 1) for index in (1, 0)]
    assert produce(made, version) == [("first", after), ("orders", good), ("last", after)]


def test_alone_it_is_refused_and_nobody_is_asked(made: Broker) -> None:
    made.faults.on("Produce", topic="orders").error(NOT_LEADER_OR_FOLLOWER).once()
    ((name, rows),) = produce(made, 9, ("orders",))
    assert name == "orders"
    assert [code for _, code, _ in rows] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2


def test_a_fault_of_no_topic_refuses_all_of_them(made: Broker) -> None:
    made.faults.on("Produce").error(NOT_LEADER_OR_FOLLOWER).once()
    codes = {code for _, rows in produce(made, 9) for _, code, _ in rows}
    assert codes == {ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert [len(made.records(topic)) for topic in TOPICS] == [0, 0, 0]


def test_without_an_answer_to_tell_it_by_the_connection_closes(made: Broker) -> None:
    made.faults.on("Produce", topic="orders").error(NOT_LEADER_OR_FOLLOWER).once()
    with pytest.raises(Failed, match="closed the connection"):
        produce(made, 9, acks=0)
    assert [len(made.records(topic)) for topic in TOPICS] == [2, 0, 2]


def test_the_rest_may_come_later_than_the_refusal(made: Broker) -> None:
    """Both at once: the answer is one."""
    made.faults.on("Produce", topic="orders").error(NOT_LEADER_OR_FOLLOWER).delay(20).once()
    assert [name for name, _ in produce(made, 9)] == list(TOPICS)
