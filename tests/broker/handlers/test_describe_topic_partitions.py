"""DescribeTopicPartitions of a topic that is not there."""

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.whole_node import request


def test_an_unknown_topic_may_be_done_anything_to(whole_broker: Broker) -> None:
    body = {"topics": [{"name": "no-such-topic"}], "response_partition_limit": 2000}
    answer = request(whole_broker, ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, **body)
    (row,) = answer.topics
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert row.topic_authorized_operations == 3576
