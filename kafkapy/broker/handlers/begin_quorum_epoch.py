"""BeginQuorumEpoch, v0-1, on controllers: who asks leads this epoch (broker/raft/epochs.py)."""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import epochs
from kafkapy.broker.raft.asked import HasQuorum, ask
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.quorum.messages import EpochResponse

if TYPE_CHECKING:
    from kio.schema.begin_quorum_epoch.v1.request import BeginQuorumEpochRequest


def handle(role: HasQuorum, call: "Call[BeginQuorumEpochRequest]") -> Answer:
    answer = ask(role, epochs.begin_from(call.body, call.version))
    assert isinstance(answer, EpochResponse), answer
    return epochs.response_fields(answer, call.peer.listener)
