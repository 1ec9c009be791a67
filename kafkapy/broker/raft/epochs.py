"""BeginQuorumEpoch and EndQuorumEpoch, v0-1 on the wire: a leader's news of its epoch.

v1 has directory ids and the leader's endpoints (KIP-853). Both are answered alike.
"""

from typing import Any

from kafkapy.broker.raft.partition import (
    METADATA_TOPIC,
    check_whole,
    endpoint_fields,
    endpoints_from,
    epoch_fields,
    leader_of,
    node_endpoints_from,
    the_answered,
    the_partition,
)
from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.quorum.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    EpochResponse,
)
from kafkapy.kraft.quorum.voters import ReplicaKey


def begin_fields(request: BeginQuorumEpochRequest) -> Fields:
    voter = request.voter or ReplicaKey(-1)
    partition = {
        "partition_index": 0,
        "voter_directory_id": voter.directory_id,
        "leader_id": request.leader_id,
        "leader_epoch": request.epoch,
    }
    return {
        "cluster_id": request.cluster_id,
        "voter_id": voter.id,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}],
        "leader_endpoints": endpoint_fields(request.endpoints),
    }


def begin_from(body: Any, version: int) -> BeginQuorumEpochRequest:
    one = the_partition(body.topics, "topic_name")
    voter = None
    if version >= 1:
        voter = ReplicaKey(int(body.voter_id), one.voter_directory_id)
    return BeginQuorumEpochRequest(
        body.cluster_id,
        voter,
        int(one.leader_id),
        one.leader_epoch,
        endpoints_from(getattr(body, "leader_endpoints", ())),
    )


def end_fields(request: EndQuorumEpochRequest) -> Fields:
    partition = {
        "partition_index": 0,
        "leader_id": request.leader_id,
        "leader_epoch": request.epoch,
        "preferred_successors": [key.id for key in request.successors],
        "preferred_candidates": [
            {"candidate_id": key.id, "candidate_directory_id": key.directory_id}
            for key in request.successors
        ],
    }
    return {
        "cluster_id": request.cluster_id,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}],
        "leader_endpoints": endpoint_fields(request.endpoints),
    }


def end_from(body: Any, version: int) -> EndQuorumEpochRequest:
    one = the_partition(body.topics, "topic_name")
    if version >= 1:
        successors = tuple(
            ReplicaKey(int(row.candidate_id), row.candidate_directory_id)
            for row in one.preferred_candidates
        )
    else:
        successors = tuple(ReplicaKey(int(node_id)) for node_id in one.preferred_successors)
    return EndQuorumEpochRequest(
        body.cluster_id,
        int(one.leader_id),
        one.leader_epoch,
        successors,
        endpoints_from(getattr(body, "leader_endpoints", ())),
    )


def response_fields(answer: EpochResponse, listener: str) -> Fields:
    return epoch_fields(answer, listener)


def response_from(answer: Any, listener: str) -> EpochResponse:
    check_whole(answer)
    one = the_answered(answer.topics)
    leader_id = leader_of(one)
    return EpochResponse(
        ErrorCode(int(one.error_code)),
        one.leader_epoch,
        leader_id,
        node_endpoints_from(answer, leader_id, listener),
    )
