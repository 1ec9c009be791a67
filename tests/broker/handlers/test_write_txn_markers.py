"""WriteTxnMarkers: every marker to every partition, every result to its marker."""

from typing import Any

import pytest

from kafkapy.broker.handlers import write_txn_markers
from kafkapy.broker.transactions.marker_writer import Marker
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from tests.broker.handlers.transaction_node import TransactionNode

API = 27
A0, B0 = TopicPartition("a", 0), TopicPartition("b", 0)


def marker(producer_id: int, *topics: str, committed: bool = True) -> dict[str, Any]:
    return {
        "producer_id": producer_id,
        "producer_epoch": 3,
        "transaction_result": committed,
        "topics": [{"name": topic, "partition_indexes": [0]} for topic in topics],
        "coordinator_epoch": 5,
        "transaction_version": 2,
    }


@pytest.mark.parametrize(("version", "transaction_version"), [(1, 0), (2, 2)])
def test_each_marker_reaches_each_of_its_partitions(version: int, transaction_version: int) -> None:
    node = TransactionNode()
    node.marker_writer.errors[B0] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    answer = node.request(
        write_txn_markers,
        API,
        version,
        markers=[marker(1, "a", "b"), marker(2, "a", committed=False)],
    )
    assert {(of.producer_id, of.committed, where) for of, where in node.marker_writer.written} == {
        (1, True, A0),
        (1, True, B0),
        (2, False, A0),
    }
    assert Marker(1, 3, 5, True, transaction_version) in [
        of for of, _ in node.marker_writer.written
    ]
    assert [
        (of.producer_id, topic.name, one.partition_index, one.error_code)
        for of in answer.markers
        for topic in of.topics
        for one in topic.partitions
    ] == [
        (1, "a", 0, ErrorCode.NONE),
        (1, "b", 0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (2, "a", 0, ErrorCode.NONE),
    ]


def test_no_markers_no_results() -> None:
    assert TransactionNode().request(write_txn_markers, API, 2, markers=[]).markers == ()
