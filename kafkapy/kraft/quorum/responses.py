"""What others answer: votes counted, records taken, epochs learned.

An answer is judged by its epoch before anything else: older than ours, it is late and says
nothing. What depends on the question (a vote, a fetch) counts only while this replica is
still what it was when it asked. formats/quorum 4 and 5.
"""

from typing import Final

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.candidate import Candidate
from kafkapy.kraft.quorum.effects import AppendFetched, FetchSnapshot, SnapshotPiece, Truncate
from kafkapy.kraft.quorum.follower import Follower
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    Request,
    Response,
    UpdateVoterRequest,
    VoteRequest,
    VoteResponse,
    VoterResponse,
)
from kafkapy.kraft.quorum.prospective import Prospective
from kafkapy.kraft.quorum.resigned import Resigned
from kafkapy.kraft.quorum.state import Installing, QuorumState

# So often a replica that installs a snapshot asks for a bit of it while it would wait for a fetch.
TOUCHES_IN_TIME: Final = 4

_LOOK_AGAIN = (
    ErrorCode.NONE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.DUPLICATE_VOTER,
    ErrorCode.VOTER_NOT_FOUND,
)
_ANOTHER_EPOCH = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def response(
    state: QuorumState, sender: int | None, request: Request, answer: Response, now: Instant
) -> None:
    if isinstance(answer, VoterResponse):
        _voters_asked(state, sender, answer, now)
        return
    assert not isinstance(request, AddVoterRequest | RemoveVoterRequest), request
    if answer.error is ErrorCode.BROKER_NOT_AVAILABLE:
        state.peers.failed(sender, now)
        return
    state.peers.answered(sender)
    if answer.epoch < state.epoch or answer.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        state.peers.failed(sender, now)
        return
    is_news = answer.epoch > state.epoch or (
        answer.leader_id is not None and state.leader_id is None
    )
    if is_news or answer.error in _ANOTHER_EPOCH:
        state.learn(answer.epoch, answer.leader_id, answer.leader_endpoints, now)
    if request.epoch != state.epoch or answer.error in _ANOTHER_EPOCH:
        state.peers.failed(sender, now)
        return
    match request, answer:
        case VoteRequest(), VoteResponse():
            _voted(state, sender, request, answer, now)
        case BeginQuorumEpochRequest(), EpochResponse():
            _epoch_acknowledged(state, sender, answer, now)
        case UpdateVoterRequest(), EpochResponse():
            if answer.error is not ErrorCode.NONE:
                state.peers.failed(sender, now)
            elif isinstance(state.role, Follower):
                state.role.has_told = True
        case EndQuorumEpochRequest(), EpochResponse():
            if isinstance(state.role, Resigned) and sender is not None:
                state.role.untold.discard(sender)
        case FetchRequest(), FetchResponse():
            _fetched(state, sender, request, answer, now)
        case FetchSnapshotRequest(), FetchSnapshotResponse():
            _snapshot_fetched(state, sender, request, answer, now)
        case _:
            raise AssertionError(f"{answer} does not answer {request}")


def _voters_asked(
    state: QuorumState, sender: int | None, answer: VoterResponse, now: Instant
) -> None:
    """Whether it worked is seen in the log; if not, it is asked again in time."""
    if answer.error in _LOOK_AGAIN:
        state.peers.answered(sender)
    else:
        state.peers.failed(sender, now)


def _voted(
    state: QuorumState,
    sender: int | None,
    request: VoteRequest,
    answer: VoteResponse,
    now: Instant,
) -> None:
    role = state.role
    assert sender is not None, "votes are asked of voters"
    if request.is_pre_vote:
        if not isinstance(role, Prospective):
            return
        if answer.error is ErrorCode.UNSUPPORTED_VERSION:
            # A voter from before pre-votes: ask as one had to then.
            state.become_candidate(now)
            return
    elif not isinstance(role, Candidate):
        return
    assert isinstance(role, Prospective | Candidate)
    if answer.error is not ErrorCode.NONE:
        state.peers.failed(sender, now)
    elif answer.is_granted:
        role.votes.grant(sender)
        state.go_forward(now)
    else:
        role.votes.refuse(sender)
        if isinstance(role, Prospective) and role.votes.is_lost:
            state.end_lost_election(now)


def _epoch_acknowledged(
    state: QuorumState, sender: int | None, answer: EpochResponse, now: Instant
) -> None:
    if answer.error is not ErrorCode.NONE:
        state.peers.failed(sender, now)
    elif isinstance(state.role, Leader) and sender in state.role.voters:
        state.role.voters[sender].has_acknowledged = True


def _fetched(
    state: QuorumState,
    sender: int | None,
    request: FetchRequest,
    answer: FetchResponse,
    now: Instant,
) -> None:
    role = state.role
    if answer.error is not ErrorCode.NONE:
        state.peers.failed(sender, now)
        return
    if not isinstance(role, Follower) or answer.leader_id != role.leader_id:
        return
    end = (state.log.end_offset, state.log.last_epoch)
    if role.is_appending or role.snapshot or (request.offset, request.last_fetched_epoch) != end:
        return  # late: it answers what we asked before we got on
    if state.installing is not None:
        return  # a snapshot that is not in the log yet is what there will be to go on from
    role.heard_from_leader(state.fetch_deadline(now))
    if answer.diverging is not None:
        state.effects.append(Truncate(_truncation_point(state, answer.diverging)))
    elif answer.snapshot is not None:
        if answer.snapshot.end_offset < 0 or answer.snapshot.epoch < 0:
            raise Corrupt(f"the leader names the snapshot {answer.snapshot}")
        role.snapshot = answer.snapshot
        role.snapshot_position = 0
        state.effects.append(FetchSnapshot(answer.snapshot))
    else:
        if answer.high_watermark is not None:
            role.leader_high_watermark = answer.high_watermark
        if answer.records:
            role.is_appending = True
            state.effects.append(AppendFetched(answer.records, role.epoch))
        elif answer.high_watermark is not None:
            state.advance_high_watermark(min(answer.high_watermark, state.log.end_offset))


def _truncation_point(state: QuorumState, diverging: tuple[int, int]) -> int:
    """Where our log and the leader's part, at the latest. (KIP-595)"""
    epoch, end_offset = diverging
    if epoch == 0:
        point = min(end_offset, state.log.end_offset)
    else:
        own_epoch, own_end = state.log.end_offset_for_epoch(epoch)
        point = min(own_end, end_offset) if own_epoch == epoch else own_end
    if state.high_watermark is not None and point < state.high_watermark:
        raise AssertionError(
            f"the leader of epoch {state.epoch} wants {point} on removed, "
            f"but {state.high_watermark} is committed"
        )
    return point


def _snapshot_fetched(
    state: QuorumState,
    sender: int | None,
    request: FetchSnapshotRequest,
    answer: FetchSnapshotResponse,
    now: Instant,
) -> None:
    role = state.role
    if isinstance(role, Follower) and state.installing is not None:
        # It is there, whether its snapshot still is or not. (`Quorum._keep_in_touch`)
        role.heard_from_leader(state.fetch_deadline(now))
        state.peers.rest(sender, now, state.settings.fetch_timeout_ms // TOUCHES_IN_TIME)
        return
    if not isinstance(role, Follower) or role.snapshot != request.snapshot:
        return
    if request.position != role.snapshot_position:
        return  # late, as above
    if answer.error is not ErrorCode.NONE:
        # The leader has deleted it meanwhile, perhaps: fetch, it will name another.
        role.heard_from_leader(state.fetch_deadline(now))
        role.snapshot = None
        state.peers.failed(sender, now)
        return
    if answer.position != request.position or answer.position > answer.size:
        raise Corrupt(f"snapshot data at {answer.position}, not {request.position}")
    role.heard_from_leader(state.fetch_deadline(now))
    state.effects.append(SnapshotPiece(request.snapshot, answer.position, answer.size, answer.data))
    role.snapshot_position += len(answer.data)
    if role.snapshot_position >= answer.size:
        role.snapshot = None
        state.installing = Installing(request.snapshot, answer.size)
        state.peers.rest(sender, now, state.settings.fetch_timeout_ms // TOUCHES_IN_TIME)
