"""The first batch of a leader epoch: who leads, and perhaps who votes.

With kraft.version 1 the voters follow LEADER_CHANGE if the log does not have them yet
(only the snapshot that `format` wrote does), or has the new leader under an address that
is not its own any more. formats/metadata 1; KIP-853.
"""

from kafkapy.kraft.quorum.voter_history import BEFORE_THE_LOG, VoterHistory
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet
from kafkapy.kraft.records.control import ControlRecord, KRaftVersion, LeaderChange, VoterId


def first_records(
    local: ReplicaKey,
    endpoints: tuple[VoterAddress, ...],
    granting: tuple[int, ...],
    history: VoterHistory,
) -> list[ControlRecord]:
    """`endpoints` are those of `local`, which leads; () if it does not say."""
    voters = history.voters
    control: list[ControlRecord] = [
        LeaderChange(
            leader_id=local.id,
            voters=tuple(VoterId(voter_id=one) for one in voters.ids),
            granting_voters=tuple(VoterId(voter_id=one) for one in granting),
        )
    ]
    if history.kraft_version > 0:
        updated = _with_own(voters, local, endpoints)
        if updated != voters or history.voters_offset == BEFORE_THE_LOG:
            control.append(KRaftVersion(k_raft_version=history.kraft_version))
            control.append(updated.to_record())
    return control


def _with_own(voters: VoterSet, local: ReplicaKey, endpoints: tuple[VoterAddress, ...]) -> VoterSet:
    if not endpoints or not voters.has(local):
        return voters
    own = Voter(local, endpoints)
    return voters if voters.get(local.id) == own else voters.with_voter(own)
