"""Prospective: asks the voters whether they would vote for it, without a new epoch.

A replica that was cut off cannot disturb a working quorum when it comes back: it gets no
majority and goes on where it was (KIP-996). Nothing of this role is durable; what it was
before (leader, vote) stays. formats/quorum 2.
"""

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress
from kafkapy.kraft.quorum.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospective:
    epoch: int
    deadline: Instant
    votes: Votes
    leader_id: int | None = None
    leader_endpoints: tuple[VoterAddress, ...] = ()
    voted: ReplicaKey | None = None

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)

    def grants(self, candidate: ReplicaKey, *, is_pre_vote: bool, is_up_to_date: bool) -> bool:
        if is_pre_vote:
            return is_up_to_date
        if self.voted is not None:
            return self.voted.is_met_by(candidate)
        return self.leader_id is None and is_up_to_date
