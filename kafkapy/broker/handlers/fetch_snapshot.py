"""FetchSnapshot, v0-1, on controllers: a piece of a snapshot (broker/raft/fetch_snapshot.py)."""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import fetch_snapshot
from kafkapy.broker.raft.asked import HasQuorum, ask
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.quorum.messages import FetchSnapshotResponse

if TYPE_CHECKING:
    from kio.schema.fetch_snapshot.v1.request import FetchSnapshotRequest


def handle(role: HasQuorum, call: "Call[FetchSnapshotRequest]") -> Answer:
    request = fetch_snapshot.request_from(call.body)
    answer = ask(role, request)
    assert isinstance(answer, FetchSnapshotResponse), answer
    return fetch_snapshot.response_fields(request, answer, call.peer.listener)
