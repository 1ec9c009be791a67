"""DescribeQuorum, v0-2 (KIP-595). v1 fetch times, v2 directory ids and endpoints."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.quorum.description import QuorumDescription, ReplicaDescription
from kafkapy.protocol.error_messages import ERROR_MESSAGES

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_quorum.v2.request import DescribeQuorumRequest

    from kafkapy.kraft.metadata_quorum import MetadataQuorum

    class Needs(Protocol):
        @property
        def quorum(self) -> MetadataQuorum: ...


METADATA_TOPIC = "__cluster_metadata"


def handle(node: "Needs", call: "Call[DescribeQuorumRequest]") -> Answer:
    asked = [
        (topic.topic_name, one.partition_index)
        for topic in call.body.topics
        for one in topic.partitions
    ]
    if asked != [(METADATA_TOPIC, 0)]:
        return _refused(call, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        found = node.quorum.describe()
    except Refused as refused:
        return _refused(call, refused.code)
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


def _refused(call: "Call[DescribeQuorumRequest]", code: ErrorCode) -> Fields:
    """Partition by partition: who does not lead, or of any other topic, the metadata with it."""
    return {
        "error_code": 0,
        "error_message": None,
        "topics": [
            {
                "topic_name": topic.topic_name,
                "partitions": [
                    {
                        "partition_index": one.partition_index,
                        "error_code": code,
                        "error_message": ERROR_MESSAGES[code],
                        "leader_id": 0,
                        "leader_epoch": 0,
                        "high_watermark": 0,
                        "current_voters": (),
                        "observers": (),
                    }
                    for one in topic.partitions
                ],
            }
            for topic in call.body.topics
        ],
        "nodes": (),
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
