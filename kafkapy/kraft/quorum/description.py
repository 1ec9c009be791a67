"""What DescribeQuorum tells: who leads, and how far every replica is. KIP-595, KIP-836."""

from typing import NamedTuple
from uuid import UUID

from kafkapy.core.time import Instant
from kafkapy.kraft.quorum.leader import Leader, Progress
from kafkapy.kraft.quorum.voters import Voter, VoterSet


class ReplicaDescription(NamedTuple):
    """-1 where nothing is known."""

    id: int
    directory_id: UUID | None
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


class QuorumDescription(NamedTuple):
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
    nodes: tuple[Voter, ...]


def describe(leader: Leader, voters: VoterSet, now: Instant, wall: Instant) -> QuorumDescription:
    """As of `now`; timestamps are told by the `wall`."""
    leader.forget_idle_observers(now)

    def told(when: Instant | int) -> int:
        return wall - (now - when) if when >= 0 else when

    def row(replica: Progress) -> ReplicaDescription:
        # The leader does not fetch; it is always as far as it is.
        is_leader = replica.key.matches(leader.key)
        return ReplicaDescription(
            replica.key.id,
            replica.key.directory_id,
            replica.end_offset,
            told(now if is_leader else replica.last_fetch),
            told(now if is_leader else replica.last_caught_up),
        )

    high_watermark = -1 if leader.high_watermark is None else leader.high_watermark
    return QuorumDescription(
        leader.leader_id,
        leader.epoch,
        high_watermark,
        tuple(row(replica) for replica in leader.voters.values()),
        tuple(row(replica) for replica in leader.observers.values()),
        tuple(voters),
    )
