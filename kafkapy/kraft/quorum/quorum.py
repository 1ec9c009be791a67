"""The quorum machine: events in, a role and effects out (KIP-595, KIP-996, KIP-853).

    tick, request, response, failure, log_flushed --> Quorum --> effects, answers

It neither waits nor does anything: the driver (kraft/metadata_quorum.py, or the simulator)
feeds it events, takes `effects` and carries them out in order before it sends an answer.
With one voter it leads as soon as it begins, in the same call.

    driver: quorum.begin(stored, voters, now) ; loop: carry out take_effects(); tick at next_tick()
"""

from kafkapy.core.errors import ErrorCode
from kafkapy.core.seams import Rng
from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.quorum import requests, responses
from kafkapy.kraft.quorum.candidate import Candidate
from kafkapy.kraft.quorum.effects import Effect, Send
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
    Request,
    Response,
    VoterChangeRequest,
    VoteRequest,
    VoteResponse,
)
from kafkapy.kraft.quorum.prospective import Prospective
from kafkapy.kraft.quorum.resigned import Resigned
from kafkapy.kraft.quorum.state import (
    Installing,
    LogView,
    QuorumSettings,
    QuorumState,
    Role,
)
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.unattached import Unattached
from kafkapy.kraft.quorum.voter_word import voter_word
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress, VoterSet


class Quorum:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        endpoints: tuple[VoterAddress, ...] = (),
        cluster_id: str,
        log: LogView,
        rng: Rng,
        settings: QuorumSettings | None = None,
    ) -> None:
        self._state = QuorumState(
            local=local,
            endpoints=endpoints,
            cluster_id=cluster_id,
            log=log,
            rng=rng,
            settings=settings or QuorumSettings(),
        )

        self._ticked = Instant(0)

    # -- what it is --------------------------------------------------------------------

    @property
    def role(self) -> Role:
        return self._state.role

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def leader_id(self) -> int | None:
        return self._state.leader_id

    @property
    def leader_endpoints(self) -> tuple[VoterAddress, ...]:
        """Of `leader_id`, as far as they are known."""
        return self._state.leader_endpoints

    @property
    def is_leader(self) -> bool:
        return isinstance(self._state.role, Leader)

    @property
    def is_copying(self) -> bool:
        """A snapshot of the leader, or installing it."""
        role = self._state.role
        is_named = isinstance(role, Follower) and role.snapshot is not None
        return is_named or self._state.installing is not None

    @property
    def high_watermark(self) -> int | None:
        """Committed is what is below; None until this process has learned it."""
        return self._state.high_watermark

    @property
    def voters(self) -> VoterSet:
        return self._state.voters

    def take_effects(self) -> list[Effect]:
        effects, self._state.effects = self._state.effects, []
        return effects

    # -- events ------------------------------------------------------------------------

    def begin(
        self, stored: ElectionState, voters: VoterSet, now: Instant, kraft_version: int = 0
    ) -> None:
        """`stored` is what the quorum-state file says, `voters` what log or configuration."""
        self._state.voters = voters
        self._state.kraft_version = kraft_version
        self._state.begin(stored, now)
        self.tick(now)

    def set_voters(self, voters: VoterSet, now: Instant, kraft_version: int = 0) -> None:
        """The log has a new voter set, committed or not, or lost one by truncation."""
        self._state.set_voters(voters, kraft_version, now)

    def handle(
        self, request: Request, now: Instant, *, snapshot_size: int | None = None
    ) -> Response:
        """Any request of another replica; the answer leaves once the effects are done.
        `snapshot_size`: of the snapshot that is asked for, None if it is not here."""
        match request:
            case VoteRequest():
                return self.vote(request, now)
            case BeginQuorumEpochRequest():
                return self.begin_quorum_epoch(request, now)
            case EndQuorumEpochRequest():
                return self.end_quorum_epoch(request, now)
            case FetchRequest():
                return self.fetch(request, now)
            case FetchSnapshotRequest():
                return self.fetch_snapshot(request, snapshot_size, now)
            case _:
                raise AssertionError(f"{request} is for VoterChanges")

    def vote(self, request: VoteRequest, now: Instant) -> VoteResponse:
        answer = requests.vote(self._state, request, now)
        self.tick(now)
        return answer

    def begin_quorum_epoch(self, request: BeginQuorumEpochRequest, now: Instant) -> EpochResponse:
        answer = requests.begin_quorum_epoch(self._state, request, now)
        self.tick(now)
        return answer

    def end_quorum_epoch(self, request: EndQuorumEpochRequest, now: Instant) -> EpochResponse:
        answer = requests.end_quorum_epoch(self._state, request, now)
        self.tick(now)
        return answer

    def fetch(self, request: FetchRequest, now: Instant) -> FetchResponse:
        return requests.fetch(self._state, request, now)

    def fetch_snapshot(
        self, request: FetchSnapshotRequest, size: int | None, now: Instant
    ) -> FetchSnapshotResponse:
        return requests.fetch_snapshot(self._state, request, size, now)

    def response(
        self, sender: int | None, request: Request, answer: Response, now: Instant
    ) -> None:
        responses.response(self._state, sender, request, answer, now)
        self.tick(now)

    def request_failed(self, sender: int | None, now: Instant, *, is_gone: bool = False) -> None:
        """No answer came, or none that could be read: while it is left in peace, others are
        asked. `is_gone`: its process is not there, its machine says."""
        self._state.peers.failed(sender, now)
        if is_gone and sender is not None:
            self._state.leader_is_gone(sender, now)
        self.tick(now)

    def log_flushed(self, end_offset: int, now: Instant) -> None:
        """Everything before `end_offset` is durable here."""
        role = self._state.role
        if isinstance(role, Leader):
            if role.flushed(end_offset):
                assert role.high_watermark is not None
                self._state.advance_high_watermark(role.high_watermark)
            return
        if isinstance(role, Follower):
            role.is_appending = False
            if role.leader_high_watermark is not None:
                self._state.advance_high_watermark(min(role.leader_high_watermark, end_offset))
        self.tick(now)

    def install_ended(self, now: Instant, *, is_installed: bool) -> None:
        """The snapshot that was copied is in force, or was dropped: what there is now is what the
        leader is asked from."""
        self._state.installing = None
        leader_id = self._state.leader_id
        if is_installed:
            self._state.peers.answered(leader_id)
        else:
            self._state.peers.failed(leader_id, now)
        self.tick(now)

    def judge_as_leader(self, cluster_id: str | None, epoch: int | None = None) -> ErrorCode:
        """What whoever asks the leader for something else than records is told."""
        return requests.judge_as_leader(self._state, cluster_id, epoch)

    def step_down(self, now: Instant) -> None:
        """A leader that removed itself from the voters leads until that is committed."""
        assert isinstance(self._state.role, Leader), self._state.role
        self._state.resign(now, is_final=False)
        self.tick(now)

    def shut_down(self, now: Instant) -> None:
        """A leader tells the others before it goes; from here on nothing is granted."""
        self._state.is_shutting_down = True
        if isinstance(self._state.role, Leader):
            self._state.resign(now, is_final=True)
            self.tick(now)

    def tick(self, now: Instant) -> None:
        """What is due: elections, reminders, the next fetch."""
        self._ticked = now
        self._pass_deadlines(now)
        role = self._state.role
        match role:
            case Unattached():
                if self._state.voters.ids != [self._state.local.id] and self._is_durable:
                    self._send(None, self._fetch_request(), now)
            case Prospective() | Candidate() if self._is_durable:
                for voter_id in role.votes.asked:
                    self._send(voter_id, self._vote_request(voter_id), now)
            case Leader():
                self._remind(role, now)
            case Follower():
                self._fetch(role, now)
            case Resigned():
                for voter_id in sorted(role.untold):
                    self._send(voter_id, self._end_request(role), now)

    def next_tick(self) -> Instant:
        """When `tick` has something to do again, if nothing else happens. That may be past:
        what carried the effects out took its time, and nobody has looked since."""
        role = self._state.role
        return min(role.deadline, self._state.peers.next_ready(self._ticked), NEVER)

    # -- what is due -------------------------------------------------------------------

    def _pass_deadlines(self, now: Instant) -> None:
        state = self._state
        role = state.role
        if now < role.deadline or state.is_shutting_down:
            return
        match role:
            case Unattached() | Candidate() | Follower():
                if state.is_voter:
                    state.become_prospective(now)
            case Prospective():
                state.end_lost_election(now)
            case Resigned():
                self._after_resignation(role, now)
            case Leader() if now >= role.check_deadline:
                state.resign(now, is_final=False)

    def _after_resignation(self, role: Resigned, now: Instant) -> None:
        """A new epoch, so that it cannot be mistaken for the leader it was."""
        self._state.become_unattached(role.epoch + 1, now)

    def _remind(self, leader: Leader, now: Instant) -> None:
        leader.forget_idle_observers(now)
        if now < leader.begin_deadline:
            return
        for voter_id in leader.to_remind(now):
            self._send(
                voter_id,
                BeginQuorumEpochRequest(
                    self._state.cluster_id,
                    self._voter_key(voter_id),
                    self._state.local.id,
                    leader.epoch,
                    self._state.endpoints,
                ),
                now,
            )
        leader.begin_deadline = Instant(now + leader.begin_interval_ms)

    def _fetch(self, follower: Follower, now: Instant) -> None:
        to: int | None = follower.leader_id
        if self._state.installing is not None:
            self._keep_in_touch(follower, self._state.installing, now)
            return
        if follower.is_appending or not self._is_durable:
            return
        if follower.snapshot is not None:
            request = FetchSnapshotRequest(
                self._state.cluster_id,
                self._state.local,
                follower.epoch,
                follower.snapshot,
                follower.snapshot_position,
                self._state.settings.fetch_snapshot_max_bytes,
            )
            self._send(to, request, now)
        elif self._state.peers.is_ready(to, now):
            self._send(to, self._telling(follower, now) or self._fetch_request(), now)
        elif not self._state.peers.is_asked(to, now):
            # The leader does not answer: others may know a newer one.
            self._send(None, self._fetch_request(), now)

    def _keep_in_touch(self, follower: Follower, installing: Installing, now: Instant) -> None:
        """Installing a large snapshot takes longer than a fetch may: the last byte of it is asked
        for now and then. So each of the two knows that the other is there."""
        request = FetchSnapshotRequest(
            self._state.cluster_id,
            self._state.local,
            follower.epoch,
            installing.snapshot,
            max(installing.size - 1, 0),
            1,
        )
        self._send(follower.leader_id, request, now)

    @property
    def _is_durable(self) -> bool:
        """What a fetch says we have is counted as durable: so it has to be. So has what votes are
        given for: a candidate that has lost it keeps them, should it be back in its epoch."""
        return self._state.log.flushed_offset >= self._state.log.end_offset

    def _send(self, to: int | None, request: Request, now: Instant) -> None:
        if self._state.peers.is_ready(to, now):
            self._state.peers.asked(to, now)
            self._state.effects.append(Send(to, request))

    # -- requests ----------------------------------------------------------------------

    def _telling(self, follower: Follower, now: Instant) -> VoterChangeRequest | None:
        """What the leader should know of this replica and does not, once it is time to look:
        where a voter is, or that a controller would like to vote. (KIP-853)"""
        if now < follower.tells_at or not follower.has_fetched or not self._state.endpoints:
            return None
        follower.tells_at = Instant(now + self._state.settings.telling_interval_ms)
        return voter_word(self._state, follower)

    def _fetch_request(self) -> FetchRequest:
        state = self._state
        high_watermark = -1 if state.high_watermark is None else state.high_watermark
        return FetchRequest(
            state.cluster_id,
            state.local,
            state.epoch,
            state.log.end_offset,
            state.log.last_epoch,
            high_watermark,
            state.settings.max_fetch_wait_ms,
            state.settings.fetch_max_bytes,
        )

    def _vote_request(self, voter_id: int) -> VoteRequest:
        state = self._state
        return VoteRequest(
            state.cluster_id,
            self._voter_key(voter_id),
            state.local,
            state.epoch,
            state.log.last_epoch,
            state.log.end_offset,
            isinstance(state.role, Prospective),
        )

    def _end_request(self, role: Resigned) -> EndQuorumEpochRequest:
        return EndQuorumEpochRequest(
            self._state.cluster_id,
            self._state.local.id,
            role.epoch,
            role.successors,
            self._state.endpoints,
        )

    def _voter_key(self, voter_id: int) -> ReplicaKey:
        voter = self._state.voters.get(voter_id)
        return ReplicaKey(voter_id) if voter is None else voter.key
