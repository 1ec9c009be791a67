"""DescribeQuorum, v0-2 (KIP-595). v1 fetch times, v2 directory ids and endpoints."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.call import Answer, Call
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.description import QuorumDescription, ReplicaDescription

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
    found = node.quorum.describe()
    return {
        "error_code": 0,
        "error_message": None,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [_partition(found)]}],
        "nodes": [
            {
                "node_id": voter.key.id,
                "listeners": [
                    {"name": one.listener, "host": one.host, "port": one.port}
                    for one in voter.endpoints
                ],
            }
            for voter in found.nodes
        ],
    }


def _partition(found: QuorumDescription) -> dict[str, Any]:
    return {
        "partition_index": 0,
        "error_code": 0,
        "error_message": None,
        "leader_id": found.leader_id,
        "leader_epoch": found.leader_epoch,
        "high_watermark": found.high_watermark,
        "current_voters": [_replica(one) for one in found.voters],
        "observers": [_replica(one) for one in found.observers],
    }


def _replica(replica: ReplicaDescription) -> dict[str, Any]:
    return {
        "replica_id": replica.id,
        "replica_directory_id": replica.directory_id,
        "log_end_offset": replica.log_end_offset,
        "last_fetch_timestamp": replica.last_fetch_timestamp,
        "last_caught_up_timestamp": replica.last_caught_up_timestamp,
    }
