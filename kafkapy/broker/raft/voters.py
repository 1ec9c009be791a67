"""AddRaftVoter v0-1, RemoveRaftVoter v0 and UpdateRaftVoter v0 on the wire (KIP-853).

v1 of AddRaftVoter may ask to be answered before the change is committed.
"""

from datetime import timedelta
from typing import Any, Final

from kafkapy.broker.raft.partition import endpoint_fields, endpoints_from, named
from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    EpochResponse,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterResponse,
)
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress
from kafkapy.protocol.error_messages import ERROR_MESSAGES

_MILLISECOND: Final = timedelta(milliseconds=1)


def add_fields(request: AddVoterRequest) -> Fields:
    return {
        "cluster_id": request.cluster_id,
        "timeout": request.timeout_ms,
        "voter_id": request.voter.id,
        "voter_directory_id": request.voter.directory_id,
        "listeners": endpoint_fields(request.endpoints),
        "ack_when_committed": request.waits_for_commit,
    }


def add_from(body: Any) -> AddVoterRequest:
    return AddVoterRequest(
        body.cluster_id,
        ReplicaKey(body.voter_id, body.voter_directory_id),
        endpoints_from(body.listeners),
        body.timeout // _MILLISECOND,
        getattr(body, "ack_when_committed", True),
    )


def remove_fields(request: RemoveVoterRequest) -> Fields:
    return {
        "cluster_id": request.cluster_id,
        "voter_id": request.voter.id,
        "voter_directory_id": request.voter.directory_id,
    }


def remove_from(body: Any) -> RemoveVoterRequest:
    return RemoveVoterRequest(body.cluster_id, ReplicaKey(body.voter_id, body.voter_directory_id))


def changed_fields(answer: VoterResponse) -> Fields:
    message = answer.message
    if answer.error and message is None:
        message = ERROR_MESSAGES[answer.error]
    return {"throttle_time": 0, "error_code": answer.error, "error_message": message}


def changed_from(answer: Any, listener: str) -> VoterResponse:
    return VoterResponse(ErrorCode(int(answer.error_code)), answer.error_message)


def update_fields(request: UpdateVoterRequest) -> Fields:
    lowest, highest = request.kraft_versions
    return {
        "cluster_id": request.cluster_id,
        "current_leader_epoch": request.epoch,
        "voter_id": request.voter.id,
        "voter_directory_id": request.voter.directory_id,
        "listeners": endpoint_fields(request.endpoints),
        "k_raft_version_feature": {
            "min_supported_version": lowest,
            "max_supported_version": highest,
        },
    }


def update_from(body: Any) -> UpdateVoterRequest:
    versions = body.k_raft_version_feature
    return UpdateVoterRequest(
        body.cluster_id,
        body.current_leader_epoch,
        ReplicaKey(body.voter_id, body.voter_directory_id),
        endpoints_from(body.listeners),
        (versions.min_supported_version, versions.max_supported_version),
    )


def updated_fields(answer: EpochResponse, listener: str) -> Fields:
    ends = answer.leader_endpoints
    at = next((one for one in ends if one.listener == listener), None)
    return {
        "throttle_time": 0,
        "error_code": answer.error,
        "current_leader": {
            "leader_id": named(answer.leader_id),
            "leader_epoch": answer.epoch,
            "host": "" if at is None else at.host,
            "port": 0 if at is None else at.port,
        },
    }


def updated_from(answer: Any, listener: str) -> EpochResponse:
    leader = answer.current_leader
    at = (VoterAddress(listener, leader.host, leader.port),) if leader.host else ()
    leader_id = int(leader.leader_id)
    return EpochResponse(
        ErrorCode(int(answer.error_code)),
        leader.leader_epoch,
        None if leader_id < 0 else leader_id,
        at,
    )
