"""Vote, v0-2, on controllers: may this candidate lead? (broker/raft/vote.py)"""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import vote
from kafkapy.broker.raft.asked import HasQuorum, ask
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.quorum.messages import VoteResponse

if TYPE_CHECKING:
    from kio.schema.vote.v2.request import VoteRequest


def handle(role: HasQuorum, call: "Call[VoteRequest]") -> Answer:
    answer = ask(role, vote.request_from(call.body, call.version))
    assert isinstance(answer, VoteResponse), answer
    return vote.response_fields(answer, call.peer.listener)
