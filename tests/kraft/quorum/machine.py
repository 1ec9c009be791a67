"""One machine with a log that is only numbers."""

from dataclasses import dataclass, field
from uuid import UUID

from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import Instant
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.effects import Effect, Send
from kafkapy.kraft.quorum.messages import Request, VoteRequest, VoteResponse
from kafkapy.kraft.quorum.quorum import Quorum
from kafkapy.kraft.quorum.state import QuorumSettings
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet

DIRS = {n: UUID(int=n << 80) for n in range(1, 10)}
START = Instant(1_000_000)


def address(node_id: int) -> tuple[VoterAddress, ...]:
    return (VoterAddress("CONTROLLER", f"n{node_id}", 9000 + node_id),)


def key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id, DIRS[node_id])


def voters(*ids: int) -> VoterSet:
    return VoterSet(Voter(key(node_id), address(node_id)) for node_id in ids)


@dataclass
class NumberLog:
    """`epochs`: where each epoch begins."""

    epochs: dict[int, int] = field(default_factory=dict)
    end_offset: int = 0
    start_offset: int = 0
    flushed: int | None = None
    snapshots: list[SnapshotId] = field(default_factory=list)

    @property
    def flushed_offset(self) -> int:
        return self.end_offset if self.flushed is None else self.flushed

    @property
    def last_epoch(self) -> int:
        return max(self.epochs, default=0)

    @property
    def earliest_snapshot(self) -> SnapshotId | None:
        return min(self.snapshots, default=None)

    @property
    def latest_snapshot(self) -> SnapshotId | None:
        return max(self.snapshots, default=None)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        known = [one for one in self.epochs if one <= epoch]
        if not known:
            return epoch, self.start_offset
        later = [start for one, start in self.epochs.items() if one > epoch]
        return max(known), min(later, default=self.end_offset)

    def append(self, epoch: int, count: int = 1) -> None:
        self.epochs.setdefault(epoch, self.end_offset)
        self.end_offset += count


class LowRng:
    """Every election timeout is the shortest."""

    def below(self, limit: int) -> int:
        return 0

    def uuid(self) -> UUID:
        return DIRS[1]


class Machine:
    def __init__(
        self,
        *voter_ids: int,
        local: int = 1,
        stored: ElectionState | None = None,
        log: NumberLog | None = None,
    ) -> None:
        self.now = START
        self.log = log or NumberLog()
        self.quorum = Quorum(
            local=key(local),
            endpoints=address(local),
            cluster_id="c",
            log=self.log,
            rng=LowRng(),
            settings=QuorumSettings(),
        )
        self.quorum.begin(stored or ElectionState(), voters(*voter_ids), self.now)

    @property
    def role(self) -> str:
        return type(self.quorum.role).__name__

    def effects(self) -> list[Effect]:
        return self.quorum.take_effects()

    def sent(self) -> list[tuple[int | None, Request]]:
        return [(one.to, one.request) for one in self.effects() if isinstance(one, Send)]

    def wait(self, by_ms: int) -> None:
        self.now = Instant(self.now + by_ms)
        self.quorum.tick(self.now)

    def stand(self) -> list[tuple[int, VoteRequest]]:
        """Let time pass until it asks for votes."""
        self.wait(2001)
        return self.vote_requests()

    def vote_requests(self) -> list[tuple[int, VoteRequest]]:
        return [
            (to, request)
            for to, request in self.sent()
            if to is not None and isinstance(request, VoteRequest)
        ]

    def answer(self, sender: int, request: VoteRequest, answer: VoteResponse) -> None:
        self.quorum.response(sender, request, answer, self.now)

    def elect(self) -> None:
        """The others grant what they are asked for, twice."""
        for requests in (self.stand(), None):
            for to, request in requests or self.vote_requests():
                self.answer(to, request, granted(request))


def granted(request: VoteRequest, *, is_granted: bool = True) -> VoteResponse:
    return VoteResponse(ErrorCode.NONE, request.epoch, None, is_granted)
