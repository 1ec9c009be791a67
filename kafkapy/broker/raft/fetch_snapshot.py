"""FetchSnapshot, v0-1 on the wire: a piece of a snapshot. v1 has the replica's directory."""

from typing import Any

from kafkapy.broker.raft.partition import (
    METADATA_TOPIC,
    check_whole,
    named,
    node_endpoint_fields,
    node_endpoints_from,
    the_answered,
    the_partition,
)
from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.messages import FetchSnapshotRequest, FetchSnapshotResponse
from kafkapy.kraft.quorum.voters import ReplicaKey


def request_fields(request: FetchSnapshotRequest) -> Fields:
    partition = {
        "partition": 0,
        "current_leader_epoch": request.epoch,
        "snapshot_id": _snapshot_fields(request.snapshot),
        "position": request.position,
        "replica_directory_id": request.replica.directory_id,
    }
    return {
        "cluster_id": request.cluster_id,
        "replica_id": request.replica.id,
        "max_bytes": request.max_bytes,
        "topics": [{"name": METADATA_TOPIC, "partitions": [partition]}],
    }


def request_from(body: Any) -> FetchSnapshotRequest:
    one = the_partition(body.topics, "name")
    return FetchSnapshotRequest(
        body.cluster_id,
        ReplicaKey(int(body.replica_id), getattr(one, "replica_directory_id", None)),
        one.current_leader_epoch,
        SnapshotId(one.snapshot_id.end_offset, one.snapshot_id.epoch),
        one.position,
        body.max_bytes,
    )


def response_fields(
    asked: FetchSnapshotRequest, answer: FetchSnapshotResponse, listener: str
) -> Fields:
    partition = {
        "index": 0,
        "error_code": answer.error,
        "snapshot_id": _snapshot_fields(answer.snapshot or asked.snapshot),
        "current_leader": {
            "leader_id": named(answer.leader_id),
            "leader_epoch": answer.epoch,
        },
        "size": answer.size,
        "position": answer.position,
        "unaligned_records": answer.data,
    }
    return {
        "error_code": ErrorCode.NONE,
        "topics": [{"name": METADATA_TOPIC, "partitions": [partition]}],
        "node_endpoints": node_endpoint_fields(answer, listener),
    }


def response_from(answer: Any, listener: str) -> FetchSnapshotResponse:
    check_whole(answer)
    one = the_answered(answer.topics)
    leader_id = int(one.current_leader.leader_id)
    known = None if leader_id < 0 else leader_id
    return FetchSnapshotResponse(
        ErrorCode(int(one.error_code)),
        one.current_leader.leader_epoch,
        known,
        SnapshotId(one.snapshot_id.end_offset, one.snapshot_id.epoch),
        one.size,
        one.position,
        bytes(one.unaligned_records or b""),
        node_endpoints_from(answer, known, listener),
    )


def _snapshot_fields(snapshot: SnapshotId) -> Fields:
    return {"end_offset": snapshot.end_offset, "epoch": snapshot.epoch}
