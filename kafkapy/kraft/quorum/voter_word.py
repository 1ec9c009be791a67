"""What a replica that follows has to tell its leader of itself, if anything (KIP-853).

a voter     UpdateRaftVoter, if the voters in the log have it otherwise than it is;
            with kraft.version 0 once to each leader, which keeps it for an upgrade
no voter    where it joins by itself: RemoveRaftVoter for what this id was before it lost
            its disk, then AddRaftVoter
"""

from kafkapy.kraft.quorum.follower import Follower
from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeRequest,
)
from kafkapy.kraft.quorum.state import QuorumState
from kafkapy.kraft.quorum.voters import SUPPORTED_KRAFT_VERSIONS, Voter


def voter_word(state: QuorumState, follower: Follower) -> VoterChangeRequest | None:
    known = state.voters.get(state.local.id)
    if state.is_voter:
        own = Voter(state.local, state.endpoints)
        if follower.has_told if state.kraft_version == 0 else known == own:
            return None
        return UpdateVoterRequest(
            state.cluster_id,
            follower.epoch,
            state.local,
            state.endpoints,
            SUPPORTED_KRAFT_VERSIONS,
        )
    if not state.settings.joins_by_itself or state.kraft_version == 0:
        return None
    if known is not None:
        return RemoveVoterRequest(state.cluster_id, known.key)
    return AddVoterRequest(
        state.cluster_id,
        state.local,
        state.endpoints,
        state.settings.request_timeout_ms,
        # It cannot fetch while it waits, and without it there may be no commit.
        waits_for_commit=False,
    )
