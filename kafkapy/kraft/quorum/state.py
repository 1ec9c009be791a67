"""The current role, and the ways from one to the next.

    Unattached --time--> Prospective --majority--> Candidate --majority--> Leader
        ^  ^                  |  ^                     |                      |
        |  +--- lost ---------+  +------- time --------+                      |
        |                                                                     |
        +--- a higher epoch, from anywhere          Resigned <--- no majority |
                                                        |           fetches --+
    Follower <--- a leader, from anywhere but Leader    +--time--> Unattached, epoch + 1
        +--- time ---> Prospective

Epochs only grow, and within one a leader and a vote, once known, do not change. What must
not be forgotten leaves as `Persist` before anything that builds on it. formats/quorum 2.
"""

from typing import Final, NamedTuple, Protocol, assert_never

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Rng
from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.candidate import Candidate
from kafkapy.kraft.quorum.effects import (
    BecomeLeader,
    Effect,
    HighWatermarkMoved,
    Persist,
    StopLeading,
)
from kafkapy.kraft.quorum.follower import Follower
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.peers import Peers
from kafkapy.kraft.quorum.prospective import Prospective
from kafkapy.kraft.quorum.resigned import Resigned
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.unattached import Unattached
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress, VoterSet
from kafkapy.kraft.quorum.votes import Votes

# When the leader's process is dead: long enough for the other voters to have noticed too, and
# one after the other, so that they do not stand against one another.
EARLY_ELECTION_MS: Final = 30
EARLY_ELECTION_STEP_MS: Final = 100
EARLY_ELECTIONS: Final = 5

Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned


class LogView(Protocol):
    """What the machine reads of the log. `last_epoch` is that of the last record (or of the
    snapshot that the log begins with), 0 for an empty log."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def flushed_offset(self) -> int: ...

    @property
    def last_epoch(self) -> int: ...

    @property
    def earliest_snapshot(self) -> SnapshotId | None: ...

    @property
    def latest_snapshot(self) -> SnapshotId | None: ...

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The highest epoch not above `epoch`, and where it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSettings:
    """controller.quorum.*, with Kafka's defaults."""

    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_bytes: int = 1024 * 1024
    fetch_snapshot_max_bytes: int = 1024 * 1024
    # How long a leader holds a fetch that has nothing to fetch (Kafka's constant).
    max_fetch_wait_ms: int = 500
    # A controller that is no voter asks to become one (controller.quorum.auto.join.enable).
    joins_by_itself: bool = False

    @property
    def telling_interval_ms(self) -> int:
        """Between looks at whether the voters know this replica as it is."""
        return 2 * self.fetch_timeout_ms


class Installing(NamedTuple):
    """A snapshot that is copied, of so many bytes, and not yet in force."""

    snapshot: SnapshotId
    size: int


class QuorumState:
    """`local` is this replica; `endpoints` is where it can be reached as a leader."""

    def __init__(
        self,
        *,
        local: ReplicaKey,
        endpoints: tuple[VoterAddress, ...],
        cluster_id: str,
        log: LogView,
        rng: Rng,
        settings: QuorumSettings,
    ) -> None:
        self.local = local
        self.endpoints = endpoints
        self.cluster_id = cluster_id
        self.voters = VoterSet()
        self.kraft_version = 0
        self.log = log
        self.settings = settings
        self.peers = Peers(
            timeout_ms=settings.request_timeout_ms, backoff_ms=settings.retry_backoff_ms
        )
        self.role: Role = Unattached(epoch=0, deadline=NEVER)
        self.high_watermark: int | None = None
        # Whatever the role is: until the driver has done it, the log is what it was and stays so.
        self.installing: Installing | None = None
        self.is_shutting_down = False
        self.effects: list[Effect] = []
        self._rng = rng
        self._early_elections_left = 0
        self._persisted = ElectionState()

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def leader_id(self) -> int | None:
        return self.role.leader_id

    @property
    def leader_endpoints(self) -> tuple[VoterAddress, ...]:
        match self.role:
            case Leader():
                return self.endpoints
            case Follower() | Prospective():
                return self.role.leader_endpoints
            case _:
                return ()

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.local)

    # -- beginning ---------------------------------------------------------------------

    def begin(self, stored: ElectionState, now: Instant) -> None:
        """The role that follows from the quorum-state file and the log."""
        self._persisted = stored
        last_epoch = self.log.last_epoch
        voted_for_itself = stored.voted is not None and stored.voted.matches(self.local)
        if stored.epoch < last_epoch:
            deadline = self.election_deadline(now)
            self._enter(Unattached(epoch=last_epoch, deadline=deadline))
        elif stored.leader_id == self.local.id:
            # What it appended and did not flush is gone, so it cannot lead this epoch again.
            deadline = self.drawn_deadline(now)
            self._enter(Resigned(epoch=stored.epoch, leader_id=self.local.id, deadline=deadline))
        elif voted_for_itself and self.is_voter and stored.leader_id is None:
            self._enter(
                Candidate(
                    epoch=stored.epoch,
                    deadline=self.election_deadline(now),
                    votes=Votes(self.voters, self.local.id),
                    voted=self.local,
                )
            )
        else:
            self._enter(
                Unattached(
                    epoch=stored.epoch,
                    deadline=self.election_deadline(now),
                    leader_id=stored.leader_id,
                    voted=stored.voted,
                )
            )
            leader = None if stored.leader_id is None else self.voters.get(stored.leader_id)
            if leader is not None and leader.endpoints:
                self.become_follower(stored.epoch, leader.key.id, leader.endpoints, now)
        self.go_on_alone(now)

    def go_on_alone(self, now: Instant) -> None:
        """The only voter waits for nobody."""
        if not self.voters.is_only(self.local) or self.is_shutting_down:
            return
        match self.role:
            case Unattached() | Follower() | Resigned():
                self.become_prospective(now)
            case Candidate() | Prospective():
                self.go_forward(now)

    # -- transitions -------------------------------------------------------------------

    def become_unattached(self, epoch: int, now: Instant, leader_id: int | None = None) -> None:
        role = self.role
        assert epoch >= role.epoch, f"epoch {epoch} after {role}"
        assert leader_id != self.local.id, f"{self.local} cannot be led by itself"
        voted = None
        if epoch == role.epoch:
            voted = role.voted
            leader_id = role.leader_id if leader_id is None else leader_id
        match role:
            case Unattached() | Candidate():
                deadline = role.deadline
            case Prospective() if not role.votes.refused:
                deadline = role.deadline
            case Resigned() if not role.is_final:
                deadline = role.deadline
            case _:
                deadline = self.election_deadline(now)
        if not self.is_voter:
            deadline = NEVER
        elif deadline == NEVER:
            deadline = self.election_deadline(now)
        self._enter(Unattached(epoch=epoch, deadline=deadline, leader_id=leader_id, voted=voted))

    def become_follower(
        self, epoch: int, leader_id: int, endpoints: tuple[VoterAddress, ...], now: Instant
    ) -> None:
        role = self.role
        assert epoch >= role.epoch, f"epoch {epoch} after {role}"
        assert leader_id != self.local.id, f"{self.local} cannot follow itself"
        assert endpoints, f"leader {leader_id} of epoch {epoch} is nowhere"
        is_same = epoch == role.epoch
        assert not is_same or role.leader_id in (None, leader_id), (role, leader_id)
        self._enter(
            Follower(
                epoch=epoch,
                leader_id=leader_id,
                leader_endpoints=endpoints,
                deadline=self.fetch_deadline(now),
                voted=role.voted if is_same else None,
                tells_at=Instant(now + self.settings.telling_interval_ms),
            )
        )

    def become_prospective(self, now: Instant) -> None:
        role = self.role
        assert self.is_voter, f"{self.local} does not vote"
        assert not isinstance(role, Leader | Prospective), role
        self._enter(
            Prospective(
                epoch=role.epoch,
                deadline=self.election_deadline(now),
                votes=Votes(self.voters, self.local.id),
                leader_id=role.leader_id,
                leader_endpoints=self.leader_endpoints,
                voted=role.voted,
            )
        )
        self.go_forward(now)

    def become_candidate(self, now: Instant) -> None:
        assert isinstance(self.role, Prospective), self.role
        self._enter(
            Candidate(
                epoch=self.role.epoch + 1,
                deadline=self.election_deadline(now),
                votes=Votes(self.voters, self.local.id),
                voted=self.local,
            )
        )
        self.go_forward(now)

    def go_forward(self, now: Instant) -> None:
        """Where a majority has agreed, the next step follows."""
        match self.role:
            case Prospective() if self.role.votes.is_won:
                self.become_candidate(now)
            case Candidate() if self.role.votes.is_won:
                self._become_leader(now)

    def _become_leader(self, now: Instant) -> None:
        role = self.role
        assert isinstance(role, Candidate), role
        leader = Leader(
            epoch=role.epoch,
            leader_id=self.local.id,
            key=self.local,
            epoch_start_offset=self.log.end_offset,
            granting=tuple(sorted(role.votes.granted)),
            # Half as long again as a follower waits, for what the network takes (Kafka's).
            check_interval_ms=self.settings.fetch_timeout_ms * 3 // 2,
            begin_interval_ms=self.settings.fetch_timeout_ms // 2,
        )
        leader.set_voters(self.voters, now)
        self.installing = None  # what this log has not is committed nowhere
        self._enter(leader)
        self.effects.append(BecomeLeader(leader.epoch, leader.granting))

    def resign(self, now: Instant, *, is_final: bool) -> None:
        """Stop leading; `is_final`: because the node stops."""
        role = self.role
        assert isinstance(role, Leader), role
        successors = role.successors
        self._enter(
            Resigned(
                epoch=role.epoch,
                leader_id=self.local.id,
                deadline=NEVER if is_final else self.drawn_deadline(now),
                successors=successors,
                untold={key.id for key in successors},
                is_final=is_final,
            )
        )

    def end_lost_election(self, now: Instant) -> None:
        """A pre-vote that cannot be won any more: back to where it was."""
        role = self.role
        assert isinstance(role, Prospective), role
        if role.leader_id is not None and role.leader_endpoints:
            self.become_follower(role.epoch, role.leader_id, role.leader_endpoints, now)
            if self._early_elections_left:
                self._early_elections_left -= 1
                assert isinstance(self.role, Follower), self.role
                wait_ms = EARLY_ELECTION_MS + self._rng.below(EARLY_ELECTION_STEP_MS)
                self.leader_has_ended(self.role, Instant(now + wait_ms))
        else:
            self.become_unattached(role.epoch, now)

    def learn(
        self,
        epoch: int,
        leader_id: int | None,
        endpoints: tuple[VoterAddress, ...],
        now: Instant,
    ) -> None:
        """Somebody says who leads `epoch`. Corrupt if that contradicts what is known."""
        role = self.role
        if epoch < role.epoch:
            return
        if leader_id == self.local.id and epoch > role.epoch:
            raise Corrupt(f"we lead epoch {epoch}, it is said, but are in {role.epoch}")
        if epoch == role.epoch and None not in (leader_id, role.leader_id):
            if leader_id != role.leader_id:
                raise Corrupt(f"epoch {epoch} is led by {leader_id}, it is said, and by {role}")
            # Nothing new; a Prospective that hears of its old leader goes on asking.
            if self.leader_endpoints or isinstance(role, Resigned):
                return
        if leader_id is not None and leader_id != self.local.id:
            voter = self.voters.get(leader_id)
            endpoints = endpoints or (() if voter is None else voter.endpoints)
            if endpoints:
                self.become_follower(epoch, leader_id, endpoints, now)
                return
        if epoch > role.epoch:
            self.become_unattached(epoch, now, leader_id)

    def vote_for(self, candidate: ReplicaKey) -> None:
        """A vote of this epoch, durable before anybody hears of it."""
        role = self.role
        assert isinstance(role, Unattached | Prospective), role
        if role.voted is not None:
            return
        if isinstance(role, Unattached):
            self._enter(
                Unattached(
                    epoch=role.epoch,
                    deadline=role.deadline,
                    leader_id=role.leader_id,
                    voted=candidate,
                )
            )
        else:
            self._enter(
                Prospective(
                    epoch=role.epoch,
                    deadline=role.deadline,
                    votes=role.votes,
                    leader_id=role.leader_id,
                    leader_endpoints=role.leader_endpoints,
                    voted=candidate,
                )
            )

    def leader_is_gone(self, node_id: int, now: Instant) -> None:
        """The leader's connections break and its port refuses: its process is dead. Stand for
        election soon, and let others: pre-votes keep that harmless, should it be wrong."""
        role = self.role
        is_led_by = isinstance(role, Follower) and role.leader_id == node_id
        if not is_led_by or not self.is_voter or self.is_shutting_down:
            return
        assert isinstance(role, Follower), role
        others = [one for one in self.voters.ids if one != node_id]
        wait_ms = EARLY_ELECTION_MS + others.index(self.local.id) * EARLY_ELECTION_STEP_MS
        self.leader_has_ended(role, Instant(now + wait_ms))

    def leader_has_ended(self, role: Follower, deadline: Instant) -> None:
        """Nobody leads this epoch any more. Others may not have heard yet and refuse their
        votes: it is tried a few times before all wait as they do otherwise."""
        if role.has_fetched:
            self._early_elections_left = EARLY_ELECTIONS
        role.has_fetched = False
        role.deadline = min(role.deadline, deadline)

    # -- small things ------------------------------------------------------------------

    def set_voters(self, voters: VoterSet, kraft_version: int, now: Instant) -> None:
        """The log says so, committed or not, or says so no longer."""
        is_change = voters != self.voters
        self.voters, self.kraft_version = voters, kraft_version
        role = self.role
        match role:
            case Leader():
                role.set_voters(voters, now)
            case Prospective() | Candidate() if is_change:
                # Its votes were counted among others.
                self.become_unattached(role.epoch, now)
            case Follower():
                if (role.deadline == NEVER) is self.is_voter:
                    role.deadline = self.fetch_deadline(now)
            case Unattached():
                if (role.deadline == NEVER) is self.is_voter:
                    self.become_unattached(role.epoch, now)
        if not isinstance(self.role, Follower):
            # A leader that removed itself commits that first, and then says goodbye.
            self.go_on_alone(now)

    def fetch_deadline(self, now: Instant) -> Instant:
        """A voter that cannot fetch by then stands for election."""
        return Instant(now + self.settings.fetch_timeout_ms) if self.is_voter else NEVER

    def election_deadline(self, now: Instant) -> Instant:
        """NEVER for who does not vote."""
        return self.drawn_deadline(now) if self.is_voter else NEVER

    def drawn_deadline(self, now: Instant) -> Instant:
        """Drawn, so that two voters seldom stand at the same time."""
        timeout_ms = self.settings.election_timeout_ms
        return Instant(now + timeout_ms + self._rng.below(max(timeout_ms, 1)))

    def is_up_to_date(self, last_epoch: int, last_offset: int) -> bool:
        """Whether a log that ends so has all that ours has."""
        return (last_epoch, last_offset) >= (self.log.last_epoch, self.log.end_offset)

    def advance_high_watermark(self, high_watermark: int) -> None:
        """Never back: what was committed once stays so, whoever leads."""
        if self.high_watermark is None or high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
            self.effects.append(HighWatermarkMoved(high_watermark))

    def _enter(self, role: Role) -> None:
        before, self.role = self.role, role
        if role.epoch != before.epoch:
            self._early_elections_left = 0
        if isinstance(before, Leader):
            self.effects.append(StopLeading(before.epoch))
        if role.epoch != before.epoch or type(role) is not type(before):
            self.peers.forget()
        election = role.election
        match role:
            case Resigned():
                pass  # the file still says that we lead, which is what brings us here again
            case Unattached() | Prospective() | Candidate() | Leader() | Follower():
                if election != self._persisted:
                    self._persisted = election
                    self.effects.append(Persist(election))
            case _:
                assert_never(role)
