"""Follower: fetches from the leader of its epoch.

Every successful fetch puts off `deadline`; past it a voter becomes Prospective. Until the
first one it grants pre-votes, as the leader may be gone already. formats/quorum 2.
"""

from kafkapy.core.data import dataclass
from kafkapy.core.time import NEVER, Instant
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.state_file import ElectionState
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress


@dataclass(slots=True, kw_only=True)
class Follower:
    """`snapshot` and `snapshot_position`: what is being copied instead of fetching.
    `is_appending`: the driver has yet to make what was fetched durable. `tells_at`: then it is
    time to see whether the voters know this replica as it is; `has_told`: the leader does.
    `has_ended`: the leader says that it leads no more; what it still sends is late."""

    epoch: int
    leader_id: int
    leader_endpoints: tuple[VoterAddress, ...]
    deadline: Instant
    voted: ReplicaKey | None = None
    has_fetched: bool = False
    snapshot: SnapshotId | None = None
    snapshot_position: int = 0
    leader_high_watermark: int | None = None
    is_appending: bool = False
    tells_at: Instant = NEVER
    has_told: bool = False
    has_ended: bool = False

    @property
    def election(self) -> ElectionState:
        return ElectionState(self.epoch, self.leader_id, self.voted)

    def heard_from_leader(self, deadline: Instant) -> None:
        """A fetch was answered; NEVER for who does not vote."""
        if not self.has_ended:
            self.has_fetched = True
            self.deadline = deadline

    def grants(self, candidate: ReplicaKey, *, is_pre_vote: bool, is_up_to_date: bool) -> bool:
        return is_pre_vote and is_up_to_date and not self.has_fetched
