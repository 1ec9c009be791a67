"""EndQuorumEpoch, v0-1, on controllers: who asks leads no more (broker/raft/epochs.py)."""

from kafkapy.broker.raft import epochs
from kafkapy.broker.raft.asked import HasQuorum, ask
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.quorum.messages import EpochResponse


def handle(role: HasQuorum, call: Call) -> Answer:
    answer = ask(role, epochs.end_from(call.body, call.version))
    assert isinstance(answer, EpochResponse), answer
    return epochs.response_fields(answer, call.peer.listener)
