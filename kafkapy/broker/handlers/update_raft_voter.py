"""UpdateRaftVoter, v0, on controllers: a voter's word about itself (broker/raft/voters.py)."""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import voters
from kafkapy.broker.raft.asked import HasQuorum, ask_for_change
from kafkapy.broker.requests.request import Answer, Call

if TYPE_CHECKING:
    from kio.schema.update_raft_voter.v0.request import UpdateRaftVoterRequest


def handle(role: HasQuorum, call: "Call[UpdateRaftVoterRequest]") -> Answer:
    listener = call.peer.listener
    return ask_for_change(
        role,
        voters.update_from(call.body),
        lambda answer: voters.updated_fields(answer, listener),
    )
