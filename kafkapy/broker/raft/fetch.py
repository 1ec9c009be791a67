"""Fetch of the metadata log, v12-18 on the wire: how a replica of the quorum reads its leader.

v13 names the topic by its id, v15 has the replica's state, v17 its directory, v18 its high
watermark. Older versions have no last fetched epoch: nobody who follows asks in them.
"""

from datetime import timedelta
from typing import Any, Final

from kafkapy.broker.raft.partition import (
    METADATA_TOPIC,
    check_whole,
    leader_for,
    named,
    node_endpoints_from,
    the_answered,
    the_partition,
)
from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.messages import NOT_SAID, FetchRequest, FetchResponse
from kafkapy.kraft.quorum.voters import ReplicaKey
from kafkapy.kraft.uuids import METADATA_TOPIC_ID
from kafkapy.protocol.handwritten.fetch_response import (
    FetchedPartition,
    NodeEndpoint,
    pack_fetch_response,
)

FIRST_VERSION: Final = 12
_FIRST_BY_ID: Final = 13
_FIRST_WITH_REPLICA_STATE: Final = 15
# Kafka's own controllers name them since replicas have directories.
_FIRST_WITH_ENDPOINTS: Final = 17
_MILLISECOND: Final = timedelta(milliseconds=1)


def request_fields(request: FetchRequest) -> Fields:
    partition = {
        "partition": 0,
        "current_leader_epoch": request.epoch,
        "fetch_offset": request.offset,
        "last_fetched_epoch": request.last_fetched_epoch,
        "log_start_offset": -1,
        "partition_max_bytes": request.max_bytes,
        "replica_directory_id": request.replica.directory_id,
        "high_watermark": request.high_watermark,
    }
    return {
        "cluster_id": request.cluster_id,
        "replica_id": request.replica.id,
        "replica_state": {"replica_id": request.replica.id, "replica_epoch": -1},
        "max_wait": request.max_wait_ms,
        "min_bytes": 0,
        "max_bytes": request.max_bytes,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [
            {
                "topic": METADATA_TOPIC,
                "topic_id": METADATA_TOPIC_ID,
                "partitions": [partition],
            }
        ],
        "forgotten_topics_data": (),
        "rack_id": "",
    }


def request_from(body: Any, version: int) -> FetchRequest:
    """`body` is kio's. Refused if it is not a fetch of the metadata log."""
    if version < FIRST_VERSION:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if version >= _FIRST_BY_ID:
        one = the_partition(body.topics, "topic_id", METADATA_TOPIC_ID)
    else:
        one = the_partition(body.topics, "topic")
    by_state = version >= _FIRST_WITH_REPLICA_STATE
    replica_id = (body.replica_state if by_state else body).replica_id
    return FetchRequest(
        body.cluster_id,
        ReplicaKey(int(replica_id), getattr(one, "replica_directory_id", None)),
        one.current_leader_epoch,
        one.fetch_offset,
        one.last_fetched_epoch,
        getattr(one, "high_watermark", NOT_SAID),
        body.max_wait // _MILLISECOND,
        min(one.partition_max_bytes, body.max_bytes),
    )


def pack_response(
    answer: FetchResponse, version: int, correlation_id: int, listener: str
) -> list[bytes]:
    high_watermark = -1 if answer.high_watermark is None else answer.high_watermark
    snapshot = answer.snapshot
    partition = FetchedPartition(
        0,
        answer.error,
        high_watermark,
        high_watermark,
        answer.log_start_offset,
        (),
        slices=(answer.records,) if answer.records else (),
        diverging_epoch=answer.diverging,
        current_leader=(named(answer.leader_id), answer.epoch),
        snapshot_id=None if snapshot is None else (snapshot.end_offset, snapshot.epoch),
    )
    parts = pack_fetch_response(
        version,
        correlation_id,
        topics=((METADATA_TOPIC, METADATA_TOPIC_ID, (partition,)),),
        node_endpoints=_node_endpoints(answer, version, listener),
    )
    return [part for part in parts if isinstance(part, bytes)]


def _node_endpoints(answer: FetchResponse, version: int, listener: str) -> list[NodeEndpoint]:
    if answer.leader_id is None or version < _FIRST_WITH_ENDPOINTS:
        return []
    at = leader_for(answer, listener)
    return [(answer.leader_id, one.host, one.port, None) for one in at]


def response_from(answer: Any, listener: str) -> FetchResponse:
    check_whole(answer)
    one = the_answered(answer.responses)
    leader_id = int(one.current_leader.leader_id)
    known = None if leader_id < 0 else leader_id
    diverging, snapshot = one.diverging_epoch, one.snapshot_id
    return FetchResponse(
        ErrorCode(int(one.error_code)),
        one.current_leader.leader_epoch,
        known,
        None if one.high_watermark < 0 else one.high_watermark,
        one.log_start_offset,
        (diverging.epoch, diverging.end_offset) if diverging.end_offset >= 0 else None,
        SnapshotId(snapshot.end_offset, snapshot.epoch) if snapshot.end_offset >= 0 else None,
        bytes(one.records or b""),
        node_endpoints_from(answer, known, listener),
    )
