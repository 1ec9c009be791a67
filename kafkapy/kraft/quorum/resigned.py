"""Resigned: led this epoch and does so no more.

Because it stops, because a majority stopped fetching, or because it was restarted (what it
appended and had not flushed may be gone). It tells the voters, the most advanced one
first in line, and after its time goes on unattached in a new epoch. Not durable: the file
still says that it leads, which brings it here again. formats/quorum 2.
"""

from dataclasses import field

from kafkapy.core.data import dataclass
from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey


@dataclass(slots=True, kw_only=True)
class Resigned:
    """`is_final`: the node stops, no new epoch follows. `untold`: voters to be told."""

    epoch: int
    leader_id: int  # itself
    deadline: Instant = NEVER
    successors: tuple[ReplicaKey, ...] = ()
    untold: set[int] = field(default_factory=set)
    is_final: bool = False
    voted: None = None

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, None)

    def grants(self, candidate: ReplicaKey, *, is_pre_vote: bool, is_up_to_date: bool) -> bool:
        return is_pre_vote and is_up_to_date
