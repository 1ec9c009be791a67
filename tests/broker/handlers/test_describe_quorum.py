"""DescribeQuorum of the metadata, and of anything else."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.whole_node import request

METADATA = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
OTHER = {"topic_name": "other", "partitions": [{"partition_index": 3}]}


def describe(broker: Broker, version: int, *topics: dict[str, Any]) -> Any:
    return request(broker, ApiKey.DESCRIBE_QUORUM, version, topics=list(topics))


@pytest.mark.parametrize("version", range(3))
def test_another_topic_is_refused_in_its_own_row(whole_broker: Broker, version: int) -> None:
    for asked in ((OTHER,), (METADATA, OTHER)):
        answer = describe(whole_broker, version, *asked)
        assert answer.error_code == ErrorCode.NONE
        assert [topic.topic_name for topic in answer.topics] == [one["topic_name"] for one in asked]
        for topic in answer.topics:
            assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_metadata_has_a_leader(whole_broker: Broker) -> None:
    (partition,) = describe(whole_broker, 2, METADATA).topics[0].partitions
    assert partition.error_code == ErrorCode.NONE
    assert partition.leader_id == partition.current_voters[0].replica_id
