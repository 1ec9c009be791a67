"""DescribeQuorum, v0-2 (KIP-595). v1 fetch times, v2 directory ids and endpoints."""

from typing import TYPE_CHECKING

from kafkapy.broker.call import Answer, Call
from kafkapy.core.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from kafkapy.broker.node import Node

METADATA_TOPIC = "__cluster_metadata"


def handle(node: "Node", call: Call) -> Answer:
    asked = [
        (topic.topic_name, one.partition_index)
        for topic in call.body.topics
        for one in topic.partitions
    ]
    if asked != [(METADATA_TOPIC, 0)]:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return node.quorum.describe(node.clock.now())
