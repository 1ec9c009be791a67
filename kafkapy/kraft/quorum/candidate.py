"""Candidate: voted for itself in a new epoch and asks the others to.

It waits for its election time to pass even when it has lost: the answers of a majority
may have been for somebody who will tell. formats/quorum 2.
"""

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey
from kafkapy.kraft.quorum.votes import Votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    epoch: int
    deadline: Instant
    votes: Votes
    voted: ReplicaKey  # itself
    leader_id: None = None

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, None, self.voted)

    def grants(self, candidate: ReplicaKey, *, is_pre_vote: bool, is_up_to_date: bool) -> bool:
        return is_pre_vote and is_up_to_date
