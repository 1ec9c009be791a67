"""EndQuorumEpoch, v0-1, on controllers: who asks leads no more (broker/raft/epochs.py)."""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import epochs
from kafkapy.broker.raft.asked import HasQuorum, ask
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.quorum.messages import EpochResponse

if TYPE_CHECKING:
    from kio.schema.end_quorum_epoch.v1.request import EndQuorumEpochRequest


def handle(role: HasQuorum, call: "Call[EndQuorumEpochRequest]") -> Answer:
    answer = ask(role, epochs.end_from(call.body, call.version))
    assert isinstance(answer, EpochResponse), answer
    return epochs.response_fields(answer, call.peer.listener)
