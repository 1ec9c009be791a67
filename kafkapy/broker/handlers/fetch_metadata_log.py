"""Fetch, v4-18, on controllers: replicas of the quorum read its leader (broker/raft/fetch.py).

Before v12 nobody can say which epoch they fetched last: refused.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.raft import fetch
from kafkapy.broker.raft.asked import SILENT, HasQuorum
from kafkapy.broker.requests.dispatch import refusal
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Later
from kafkapy.core.errors import Refused
from kafkapy.kraft.quorum.messages import FetchResponse

if TYPE_CHECKING:
    from kio.schema.fetch.v18.request import FetchRequest


def handle(role: HasQuorum, call: "Call[FetchRequest]") -> Answer:
    later = Later()

    def answered(answer: FetchResponse | Exception) -> None:
        if isinstance(answer, FetchResponse):
            parts = fetch.pack_response(
                answer, call.version, call.correlation_id, call.peer.listener
            )
            later.resolve(Encoded(parts))
        elif isinstance(answer, Refused):
            later.resolve(refusal(call, answer))
        else:
            later.resolve(Hangup(SILENT))

    role.quorum.answering.fetch(fetch.request_from(call.body, call.version), answered)
    return later
