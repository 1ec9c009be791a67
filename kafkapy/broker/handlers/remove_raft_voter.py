"""RemoveRaftVoter, v0, forwarded to the controller: a voter less (broker/raft/voters.py)."""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import voters
from kafkapy.broker.raft.asked import HasQuorum, ask_for_change
from kafkapy.broker.requests.request import Answer, Call

if TYPE_CHECKING:
    from kio.schema.remove_raft_voter.v0.request import RemoveRaftVoterRequest


def handle(role: HasQuorum, call: "Call[RemoveRaftVoterRequest]") -> Answer:
    return ask_for_change(role, voters.remove_from(call.body), voters.changed_fields)
