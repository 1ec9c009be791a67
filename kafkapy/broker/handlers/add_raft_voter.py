"""AddRaftVoter, v0-1, forwarded to the controller: a new voter (broker/raft/voters.py)."""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import voters
from kafkapy.broker.raft.asked import HasQuorum, ask_for_change
from kafkapy.broker.requests.request import Answer, Call

if TYPE_CHECKING:
    from kio.schema.add_raft_voter.v1.request import AddRaftVoterRequest


def handle(role: HasQuorum, call: "Call[AddRaftVoterRequest]") -> Answer:
    return ask_for_change(role, voters.add_from(call.body), voters.changed_fields)
