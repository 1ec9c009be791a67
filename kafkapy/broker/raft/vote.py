"""Vote, v0-2 on the wire. v1 has directory ids, v2 pre-votes (KIP-853, KIP-996)."""

from typing import Any

from kafkapy.broker.raft.partition import (
    METADATA_TOPIC,
    check_whole,
    epoch_fields,
    leader_of,
    node_endpoints_from,
    the_answered,
    the_partition,
)
from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.quorum.messages import VoteRequest, VoteResponse
from kafkapy.kraft.quorum.voters import ReplicaKey


def request_fields(request: VoteRequest) -> Fields:
    voter = request.voter or ReplicaKey(-1)
    partition = {
        "partition_index": 0,
        "replica_epoch": request.epoch,
        "replica_id": request.candidate.id,
        "replica_directory_id": request.candidate.directory_id,
        "voter_directory_id": voter.directory_id,
        "last_offset_epoch": request.last_epoch,
        "last_offset": request.last_offset,
        "pre_vote": request.is_pre_vote,
    }
    return {
        "cluster_id": request.cluster_id,
        "voter_id": voter.id,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}],
    }


def request_from(body: Any, version: int) -> VoteRequest:
    one = the_partition(body.topics, "topic_name")
    voter = None
    if version >= 1:
        voter = ReplicaKey(int(body.voter_id), one.voter_directory_id)
    return VoteRequest(
        body.cluster_id,
        voter,
        ReplicaKey(int(one.replica_id), getattr(one, "replica_directory_id", None)),
        one.replica_epoch,
        one.last_offset_epoch,
        one.last_offset,
        getattr(one, "pre_vote", False),
    )


def response_fields(answer: VoteResponse, listener: str) -> Fields:
    return epoch_fields(answer, listener, vote_granted=answer.is_granted)


def response_from(answer: Any, listener: str) -> VoteResponse:
    check_whole(answer)
    one = the_answered(answer.topics)
    leader_id = leader_of(one)
    return VoteResponse(
        ErrorCode(int(one.error_code)),
        one.leader_epoch,
        leader_id,
        one.vote_granted,
        node_endpoints_from(answer, leader_id, listener),
    )
