"""What the quorum says arrives as it was said, in every version that can carry it."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.raft import epochs, fetch, fetch_snapshot, vote, voters
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.messages import (
    NOT_SAID,
    AddVoterRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoteRequest,
    VoteResponse,
    VoterResponse,
)
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)

DIRECTORY, OTHER = UUID(int=7), UUID(int=8)
LISTENER = "CONTROLLER"
HOME = (VoterAddress(LISTENER, "host", 9093),)
ANYBODY = ReplicaKey(-1)


def asked(api: ApiKey, version: int, fields: Any) -> Any:
    return decode_request(api, version, encode_request(api, version, fields))


def told(api: ApiKey, version: int, fields: Any) -> Any:
    return decode_response(api, version, encode_response(api, version, fields))


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("is_pre_vote", [False, True])
def test_vote(version: int, is_pre_vote: bool) -> None:
    request = VoteRequest(
        "cluster", ReplicaKey(2, OTHER), ReplicaKey(1, DIRECTORY), 5, 4, 77, is_pre_vote
    )
    body = asked(ApiKey.VOTE, version, vote.request_fields(request))
    expected = request
    if version < 2:
        expected = expected._replace(is_pre_vote=False)
    if version < 1:
        expected = expected._replace(voter=None, candidate=ReplicaKey(1))
    assert vote.request_from(body, version) == expected
    for answer in (
        VoteResponse(ErrorCode.NONE, 5, 3, True, HOME),
        VoteResponse(ErrorCode.INVALID_REQUEST, 5, None, False),
    ):
        read = vote.response_from(
            told(ApiKey.VOTE, version, vote.response_fields(answer, LISTENER)), LISTENER
        )
        assert read == (answer if version else answer._replace(leader_endpoints=()))


@pytest.mark.parametrize("version", range(2))
def test_begin_quorum_epoch(version: int) -> None:
    request = BeginQuorumEpochRequest("cluster", ReplicaKey(2, OTHER), 1, 5, HOME)
    body = asked(ApiKey.BEGIN_QUORUM_EPOCH, version, epochs.begin_fields(request))
    expected = request if version else request._replace(voter=None, endpoints=())
    assert epochs.begin_from(body, version) == expected
    answer = EpochResponse(ErrorCode.FENCED_LEADER_EPOCH, 6, 3, HOME)
    fields = epochs.response_fields(answer, LISTENER)
    read = epochs.response_from(told(ApiKey.BEGIN_QUORUM_EPOCH, version, fields), LISTENER)
    assert read == (answer if version else answer._replace(leader_endpoints=()))


@pytest.mark.parametrize("version", range(2))
def test_end_quorum_epoch(version: int) -> None:
    keys = (ReplicaKey(3, OTHER), ReplicaKey(2, DIRECTORY))
    request = EndQuorumEpochRequest("cluster", 1, 5, keys, HOME)
    body = asked(ApiKey.END_QUORUM_EPOCH, version, epochs.end_fields(request))
    expected = request
    if not version:
        expected = request._replace(successors=(ReplicaKey(3), ReplicaKey(2)), endpoints=())
    assert epochs.end_from(body, version) == expected


@pytest.mark.parametrize("version", range(12, 19))
def test_fetch(version: int) -> None:
    request = FetchRequest("cluster", ReplicaKey(1, DIRECTORY), 5, 100, 4, 90, 500, 8000)
    body = asked(ApiKey.FETCH, version, fetch.request_fields(request))
    expected = request
    if version < 18:
        expected = expected._replace(high_watermark=NOT_SAID)
    if version < 17:
        expected = expected._replace(replica=ReplicaKey(1))
    assert fetch.request_from(body, version) == expected
    for answer in (
        FetchResponse(ErrorCode.NONE, 5, 3, 95, 10, None, None, b"batches", HOME),
        FetchResponse(ErrorCode.NONE, 5, 3, None, 0, (4, 50), None, b"", HOME),
        FetchResponse(ErrorCode.NONE, 5, 3, 95, 0, None, SnapshotId(60, 3), b"", HOME),
        FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 6, None, None),
    ):
        frame = b"".join(fetch.pack_response(answer, version, 9, LISTENER))
        correlation_id, at = read_response_head(ApiKey.FETCH, version, frame[4:])
        assert correlation_id == 9
        body = decode_response(ApiKey.FETCH, version, memoryview(frame)[4 + at :])
        read = fetch.response_from(body, LISTENER)
        assert read == (answer if version >= 17 else answer._replace(leader_endpoints=()))


def test_a_fetch_that_cannot_say_what_it_has_is_refused() -> None:
    request = FetchRequest("cluster", ReplicaKey(1), 5, 100, 4)
    body = asked(ApiKey.FETCH, 11, {**fetch.request_fields(request)})
    with pytest.raises(Refused, match="UNSUPPORTED_VERSION"):
        fetch.request_from(body, 11)


@pytest.mark.parametrize("version", range(2))
def test_fetch_snapshot(version: int) -> None:
    request = FetchSnapshotRequest(
        "cluster", ReplicaKey(1, DIRECTORY), 5, SnapshotId(60, 3), 1024, 4096
    )
    body = asked(ApiKey.FETCH_SNAPSHOT, version, fetch_snapshot.request_fields(request))
    expected = request if version else request._replace(replica=ReplicaKey(1))
    assert fetch_snapshot.request_from(body) == expected
    answer = FetchSnapshotResponse(
        ErrorCode.NONE, 5, 3, SnapshotId(60, 3), 9000, 1024, b"piece", HOME
    )
    fields = fetch_snapshot.response_fields(request, answer, LISTENER)
    body = told(ApiKey.FETCH_SNAPSHOT, version, fields)
    read = fetch_snapshot.response_from(body, LISTENER)
    assert read == (answer if version else answer._replace(leader_endpoints=()))


def test_another_topic_or_several_partitions_are_refused() -> None:
    request = VoteRequest("cluster", ANYBODY, ReplicaKey(1), 5, 4, 77, is_pre_vote=False)
    fields = dict(vote.request_fields(request))
    topic = dict(fields["topics"][0])
    for topics in (
        [],
        [{**topic, "topic_name": "orders"}],
        [topic, topic],
        [{**topic, "partitions": [*topic["partitions"], *topic["partitions"]]}],
        [{**topic, "partitions": [{**topic["partitions"][0], "partition_index": 1}]}],
    ):
        body = asked(ApiKey.VOTE, 2, {**fields, "topics": topics})
        with pytest.raises(Refused, match="INVALID_REQUEST"):
            vote.request_from(body, 2)


def test_an_answer_about_something_else_is_corrupt() -> None:
    body = told(ApiKey.VOTE, 2, {"error_code": 0, "topics": ()})
    with pytest.raises(Corrupt):
        vote.response_from(body, LISTENER)


def test_a_refusal_as_a_whole_is_one_here_too() -> None:
    body = told(ApiKey.VOTE, 2, {"error_code": ErrorCode.INCONSISTENT_CLUSTER_ID, "topics": ()})
    with pytest.raises(Refused, match="INCONSISTENT_CLUSTER_ID"):
        vote.response_from(body, LISTENER)


@pytest.mark.parametrize("version", range(2))
def test_add_voter(version: int) -> None:
    request = AddVoterRequest("cluster", ReplicaKey(4, DIRECTORY), HOME, 1234, False)
    body = asked(ApiKey.ADD_RAFT_VOTER, version, voters.add_fields(request))
    assert voters.add_from(body) == request._replace(waits_for_commit=version == 0)
    for answer in (VoterResponse(ErrorCode.NONE), VoterResponse(ErrorCode.DUPLICATE_VOTER, "4")):
        fields = voters.changed_fields(answer)
        assert voters.changed_from(told(ApiKey.ADD_RAFT_VOTER, version, fields), "") == answer


def test_remove_voter() -> None:
    request = RemoveVoterRequest("cluster", ReplicaKey(4, DIRECTORY))
    body = asked(ApiKey.REMOVE_RAFT_VOTER, 0, voters.remove_fields(request))
    assert voters.remove_from(body) == request
    fields = voters.changed_fields(VoterResponse(ErrorCode.VOTER_NOT_FOUND))
    assert told(ApiKey.REMOVE_RAFT_VOTER, 0, fields).error_message is not None


def test_update_voter() -> None:
    request = UpdateVoterRequest("cluster", 5, ReplicaKey(4, DIRECTORY), HOME, (0, 1))
    body = asked(ApiKey.UPDATE_RAFT_VOTER, 0, voters.update_fields(request))
    assert voters.update_from(body) == request
    for answer in (
        EpochResponse(ErrorCode.NONE, 5, 1, HOME),
        EpochResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 6, None),
    ):
        fields = voters.updated_fields(answer, LISTENER)
        assert voters.updated_from(told(ApiKey.UPDATE_RAFT_VOTER, 0, fields), LISTENER) == answer
