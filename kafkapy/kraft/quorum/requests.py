"""What others ask of this replica: votes, news of an epoch, its log.

Who asks may be anybody: a request is judged by its epoch first. A newer epoch is believed
and entered, an older one is told of ours. Refused is the answer to the request as a whole,
every other error concerns the one partition. formats/quorum 3 to 5.
"""

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.kraft.log.snapshot_file import BOOTSTRAP_SNAPSHOT, SnapshotId
from kafkapy.kraft.quorum.follower import Follower
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from kafkapy.kraft.quorum.state import QuorumState
from kafkapy.kraft.quorum.voters import ReplicaKey

NONE = ErrorCode.NONE


def vote(state: QuorumState, request: VoteRequest, now: Instant) -> VoteResponse:
    _check_cluster(state, request.cluster_id)
    highest_epoch = request.epoch if request.is_pre_vote else request.epoch - 1
    if not (request.last_offset >= 0 and 0 <= request.last_epoch <= highest_epoch):
        return _not_granted(state, ErrorCode.INVALID_REQUEST)
    if (error := _judge_epoch(state, request.epoch)) is not NONE:
        return _not_granted(state, error)
    candidate = request.candidate
    if candidate.id < 0:
        return _not_granted(state, ErrorCode.INVALID_REQUEST)
    if request.epoch > state.epoch:
        state.become_unattached(request.epoch, now)
    if _is_for_another(state, request.voter):
        return _not_granted(state, ErrorCode.INVALID_VOTER_KEY)
    is_granted = state.role.grants(
        candidate,
        is_pre_vote=request.is_pre_vote,
        is_up_to_date=state.is_up_to_date(request.last_epoch, request.last_offset),
    )
    if is_granted and not request.is_pre_vote:
        state.vote_for(candidate)
    return VoteResponse(NONE, state.epoch, state.leader_id, is_granted, state.leader_endpoints)


def begin_quorum_epoch(
    state: QuorumState, request: BeginQuorumEpochRequest, now: Instant
) -> EpochResponse:
    _check_cluster(state, request.cluster_id)
    if (error := _judge_epoch(state, request.epoch)) is not NONE:
        return _epoch_response(state, error)
    if request.leader_id < 0 or request.leader_id == state.local.id:
        return _epoch_response(state, ErrorCode.INVALID_REQUEST)
    state.learn(request.epoch, request.leader_id, request.endpoints, now)
    # What is said of the leader is true, whomever it was meant for.
    if _is_for_another(state, request.voter):
        return _epoch_response(state, ErrorCode.INVALID_VOTER_KEY)
    return _epoch_response(state, NONE)


def end_quorum_epoch(
    state: QuorumState, request: EndQuorumEpochRequest, now: Instant
) -> EpochResponse:
    _check_cluster(state, request.cluster_id)
    if (error := _judge_epoch(state, request.epoch)) is not NONE:
        return _epoch_response(state, error)
    if request.leader_id < 0 or request.leader_id == state.local.id:
        return _epoch_response(state, ErrorCode.INVALID_REQUEST)
    state.learn(request.epoch, request.leader_id, request.endpoints, now)
    role = state.role
    if isinstance(role, Follower) and role.leader_id == request.leader_id and state.is_voter:
        delay_ms = _succession_delay_ms(state, request.successors)
        state.leader_has_ended(role, Instant(now + delay_ms))
        role.has_ended = True
    return _epoch_response(state, NONE)


def fetch(state: QuorumState, request: FetchRequest, now: Instant) -> FetchResponse:
    """Judges and counts the fetch. If the answer has no error, divergence or snapshot, the
    driver adds the records from `request.offset` on, or waits for some."""
    _check_cluster(state, request.cluster_id)
    if request.offset < 0 or not 0 <= request.last_fetched_epoch <= request.epoch:
        return _fetch_refused(state, ErrorCode.INVALID_REQUEST)
    if request.replica.id == state.local.id:
        return _fetch_refused(state, ErrorCode.INVALID_REQUEST)  # two nodes of one id
    leader = state.role
    if (error := _judge_reader(state, request.epoch)) is not NONE:
        return _fetch_refused(state, error)
    assert isinstance(leader, Leader), leader
    answer = FetchResponse(
        NONE,
        state.epoch,
        state.leader_id,
        leader.high_watermark,
        state.log.start_offset,
        leader_endpoints=state.leader_endpoints,
    )
    offset, epoch = request.offset, request.last_fetched_epoch
    if (snapshot := _snapshot_for(state, offset, epoch)) is not None:
        return answer._replace(snapshot=snapshot)
    if (diverging := _divergence(state, offset, epoch)) is not None:
        return answer._replace(diverging=diverging)
    if leader.fetched(request.replica, offset, state.log.end_offset, now):
        assert leader.high_watermark is not None
        state.advance_high_watermark(leader.high_watermark)
        answer = answer._replace(high_watermark=leader.high_watermark)
    return answer


def fetch_snapshot(
    state: QuorumState, request: FetchSnapshotRequest, size: int | None, now: Instant
) -> FetchSnapshotResponse:
    """`size` is that of the snapshot asked for, None if it is not here. If there is no
    error the driver adds the data from `request.position` on."""
    _check_cluster(state, request.cluster_id)
    error = _judge_reader(state, request.epoch)
    if isinstance(state.role, Leader) and error is NONE:
        # Also of one that is gone: who installs it asks for it to show that he is there.
        state.role.heard_from(request.replica, now)
    if error is NONE and (size is None or request.snapshot == BOOTSTRAP_SNAPSHOT):
        error = ErrorCode.SNAPSHOT_NOT_FOUND
    elif error is NONE and not 0 <= request.position < (size or 0):
        error = ErrorCode.POSITION_OUT_OF_RANGE
    answer = FetchSnapshotResponse(
        error, state.epoch, state.leader_id, leader_endpoints=state.leader_endpoints
    )
    if error is not NONE:
        return answer
    assert size is not None
    return answer._replace(snapshot=request.snapshot, size=size, position=request.position)


def judge_as_leader(state: QuorumState, cluster_id: str | None, epoch: int | None) -> ErrorCode:
    """Of changes of the voters: only the leader takes them, of `epoch` if one is named."""
    if cluster_id not in (None, state.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    return _judge_reader(state, state.epoch if epoch is None else epoch)


def _check_cluster(state: QuorumState, cluster_id: str | None) -> None:
    if cluster_id not in (None, state.cluster_id):
        raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID)


def _judge_epoch(state: QuorumState, epoch: int) -> ErrorCode:
    if epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.BROKER_NOT_AVAILABLE if state.is_shutting_down else NONE


def _judge_reader(state: QuorumState, epoch: int) -> ErrorCode:
    """Only the leader of exactly that epoch is read from."""
    if state.is_shutting_down:
        return ErrorCode.BROKER_NOT_AVAILABLE
    if epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > state.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(state.role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return NONE


def _is_for_another(state: QuorumState, voter: ReplicaKey | None) -> bool:
    return voter is not None and voter.id >= 0 and not voter.matches(state.local)


def _succession_delay_ms(state: QuorumState, successors: tuple[ReplicaKey, ...]) -> int:
    """The first in line stands at once, the others later and later."""
    place = next((i for i, key in enumerate(successors) if key.matches(state.local)), None)
    longest = state.settings.election_backoff_max_ms
    if place == 0:
        return 0
    if place is None:
        return longest
    return min(longest, (longest >> (len(successors) - 1)) << (place - 1))


def _snapshot_for(state: QuorumState, offset: int, epoch: int) -> SnapshotId | None:
    """The snapshot to start from instead, if the log no longer has what is asked for."""
    log = state.log
    latest, earliest = log.latest_snapshot, log.earliest_snapshot
    if latest is None or earliest is None or latest == BOOTSTRAP_SNAPSHOT:
        return None
    start = log.start_offset
    is_behind = (
        offset == 0
        or offset < start
        or (offset == start and epoch != earliest.epoch)
        or epoch < earliest.epoch
    )
    return latest if is_behind else None


def _divergence(state: QuorumState, offset: int, epoch: int) -> tuple[int, int] | None:
    if offset == 0 and state.log.start_offset == 0:
        return None
    end_epoch, end_offset = state.log.end_offset_for_epoch(epoch)
    return None if end_epoch == epoch and end_offset >= offset else (end_epoch, end_offset)


def _not_granted(state: QuorumState, error: ErrorCode) -> VoteResponse:
    return VoteResponse(error, state.epoch, state.leader_id, False, state.leader_endpoints)


def _epoch_response(state: QuorumState, error: ErrorCode) -> EpochResponse:
    return EpochResponse(error, state.epoch, state.leader_id, state.leader_endpoints)


def _fetch_refused(state: QuorumState, error: ErrorCode) -> FetchResponse:
    return FetchResponse(
        error,
        state.epoch,
        state.leader_id,
        log_start_offset=state.log.start_offset,
        leader_endpoints=state.leader_endpoints,
    )
