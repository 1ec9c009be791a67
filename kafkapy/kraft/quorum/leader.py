"""Leader: what every replica has of the log, and from that what is committed.

    ends of the voters, descending    12 | 10 | 9     of 3 voters, the one in the middle
    committed                               10        is what a majority has

The high watermark moves only once a record of the leader's own epoch is behind it (its
LEADER_CHANGE): a record of an older epoch on a majority may still be overwritten. Its own
end is what it has flushed. formats/quorum 2 and 5.
"""

from collections.abc import Iterable
from dataclasses import field

from kafkapy.core.data import dataclass
from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterSet

# Observers that have not fetched for so long are not listed any more (Kafka's constant).
OBSERVER_SESSION_TIMEOUT_MS = 300_000
# So lately must one have fetched that is to vote (Kafka's constant).
CAUGHT_UP_WITHIN_MS = 3_600_000


@dataclass(slots=True)
class Progress:
    """One replica as the leader sees it; -1: not known yet."""

    key: ReplicaKey
    end_offset: int = -1
    last_fetch: int = -1
    last_caught_up: int = -1
    has_acknowledged: bool = False
    # The leader's end at that fetch: reaching it now means having been caught up then.
    _leader_end_then: int = -1

    def fetched(self, offset: int, leader_end: int, now: Instant) -> None:
        if offset >= leader_end:
            self.last_caught_up = max(self.last_caught_up, now)
        elif 0 < self._leader_end_then <= offset:
            self.last_caught_up = max(self.last_caught_up, self.last_fetch)
        self._leader_end_then = leader_end
        self.last_fetch = max(self.last_fetch, now)
        self.end_offset = offset
        self.has_acknowledged = True


@dataclass(slots=True, kw_only=True)
class Leader:
    """`check_deadline`: by then a majority must have fetched. `begin_deadline`: then voters
    that have not fetched lately are told (again) that this epoch has begun."""

    epoch: int
    leader_id: int
    key: ReplicaKey
    epoch_start_offset: int
    granting: tuple[int, ...]
    check_interval_ms: int
    begin_interval_ms: int
    check_deadline: Instant = NEVER
    begin_deadline: Instant = NEVER
    high_watermark: int | None = None
    voters: dict[int, Progress] = field(default_factory=dict)
    observers: dict[ReplicaKey, Progress] = field(default_factory=dict)
    voted: None = None
    _fetched: set[int] = field(default_factory=set)

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, None)

    @property
    def deadline(self) -> Instant:
        return min(self.check_deadline, self.begin_deadline)

    def grants(self, candidate: ReplicaKey, *, is_pre_vote: bool, is_up_to_date: bool) -> bool:
        return False

    def set_voters(self, voters: VoterSet, now: Instant) -> None:
        """Voters that are new keep what they had as observers, and the other way round."""
        known = {one.key: one for one in (*self.voters.values(), *self.observers.values())}
        before, self.voters = self.voters, {}
        for voter in voters:
            replica = next((known[key] for key in known if key.matches(voter.key)), None)
            replica = replica or Progress(voter.key)
            self.observers.pop(replica.key, None)
            replica.key = voter.key
            self.voters[voter.key.id] = replica
        for replica in before.values():
            if all(replica is not voter for voter in self.voters.values()):
                self.observers[replica.key] = replica
        if not self._others:
            self.check_deadline = self.begin_deadline = NEVER
        elif self.check_deadline == NEVER:
            self.check_deadline = Instant(now + self.check_interval_ms)
            self.begin_deadline = now

    def flushed(self, end_offset: int) -> bool:
        """Our own log is durable up to there. True if the high watermark moved."""
        own = self.voters.get(self.key.id)
        if own is None or not own.key.matches(self.key):
            own = self.observers.setdefault(self.key, Progress(self.key))
        assert end_offset >= own.end_offset, f"flushed {end_offset} after {own.end_offset}"
        own.end_offset = end_offset
        return self._advance()

    def fetched(self, replica: ReplicaKey, offset: int, leader_end: int, now: Instant) -> bool:
        """A replica has everything before `offset`. True if the high watermark moved."""
        assert replica.id != self.key.id, f"{replica} fetches from itself"
        if replica.id < 0:
            return False
        voter = self.voters.get(replica.id)
        if voter is None or not voter.key.matches(replica):
            observer = self.observers.setdefault(replica, Progress(replica))
            observer.fetched(offset, leader_end, now)
            return False
        voter.fetched(offset, leader_end, now)
        self.heard_from(replica, now)
        return self._advance()

    def heard_from(self, replica: ReplicaKey, now: Instant) -> None:
        """A voter fetches (records or a snapshot): is a majority still with us?"""
        voter = self.voters.get(replica.id)
        if voter is None or not voter.key.matches(replica):
            return
        self._fetched.add(replica.id)
        # The leader counts itself, if it votes at all.
        if len(self._fetched) + (self.key.id in self.voters) > len(self.voters) // 2:
            self._fetched.clear()
            self.check_deadline = Instant(now + self.check_interval_ms)

    def is_caught_up(self, replica: ReplicaKey, now: Instant) -> bool:
        """Whether one that does not vote has had all of the log lately: only then a vote of
        its own holds nothing up."""
        observer = self.observers.get(replica)
        if observer is None or observer.last_caught_up < 0:
            return False
        return now - observer.last_fetch < CAUGHT_UP_WITHIN_MS

    def to_remind(self, now: Instant) -> list[int]:
        """Voters that should hear (again) that this epoch has begun."""
        return [
            voter.key.id
            for voter in self._others
            if voter.last_fetch < 0 or now - voter.last_fetch >= self.begin_interval_ms
        ]

    def forget_idle_observers(self, now: Instant) -> None:
        for key, observer in list(self.observers.items()):
            idle = now - observer.last_fetch >= OBSERVER_SESSION_TIMEOUT_MS
            if idle and not key.matches(self.key):
                del self.observers[key]

    @property
    def successors(self) -> tuple[ReplicaKey, ...]:
        """The other voters, those first who have most of the log."""
        ordered = sorted(self._others, key=lambda one: (-one.end_offset, one.key.id))
        return tuple(voter.key for voter in ordered)

    @property
    def _others(self) -> list[Progress]:
        return [voter for voter in self.voters.values() if voter.key.id != self.key.id]

    def _advance(self) -> bool:
        ends = sorted((voter.end_offset for voter in self.voters.values()), reverse=True)
        on_majority = ends[len(ends) // 2]
        if on_majority <= self.epoch_start_offset:
            return False
        if self.high_watermark is not None and on_majority <= self.high_watermark:
            return False
        self.high_watermark = on_majority
        return True


def replicas_of(leader: Leader) -> Iterable[Progress]:
    yield from leader.voters.values()
    yield from leader.observers.values()
