"""Unattached: knows an epoch, perhaps a vote of its own and who leads, but not where.

It asks bootstrap servers for the leader; a voter stands for election when its time is up,
an observer never. formats/quorum 2.
"""

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattached:
    epoch: int
    deadline: Instant
    leader_id: int | None = None
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
