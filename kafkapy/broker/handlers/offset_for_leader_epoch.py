"""OffsetForLeaderEpoch, v2-4: where did the log of an older leader epoch end?"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import require, would_allow
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.offset_for_leader_epoch.v4.request import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasPartitions

    class Needs(HasAuthorizer, HasPartitions, Protocol): ...


def handle(node: "Needs", call: "Call[OffsetForLeaderEpochRequest]") -> Answer:
    return {
        "throttle_time": 0,
        "topics": [
            {
                "topic": topic.topic,
                "partitions": [
                    _partition(node, call, topic.topic, one) for one in topic.partitions
                ],
            }
            for topic in call.body.topics
        ],
    }


def _partition(
    node: "Needs",
    call: "Call[OffsetForLeaderEpochRequest]",
    topic: str,
    asked: "OffsetForLeaderPartition",
) -> dict[str, Any]:
    code, epoch, end_offset = ErrorCode.NONE, -1, -1
    try:
        if not would_allow(
            node, call, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            require(node, call, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        partition = node.partitions.readable(topic, None, asked.partition)
        partition.check_leader(asked.current_leader_epoch)
        epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    except Refused as refused:
        code = refused.code
    return {
        "error_code": code,
        "partition": asked.partition,
        "leader_epoch": epoch,
        "end_offset": end_offset,
    }
