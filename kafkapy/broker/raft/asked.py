"""What the handlers of the quorum's requests share: ask the replica here, or hang up."""

from typing import TYPE_CHECKING, Protocol

from kafkapy.broker.requests.request import Hangup
from kafkapy.kraft.quorum.answering import QuorumStopped
from kafkapy.kraft.quorum.messages import Request, Response

if TYPE_CHECKING:
    from kafkapy.kraft.metadata_quorum import MetadataQuorum


class HasQuorum(Protocol):
    @property
    def quorum(self) -> "MetadataQuorum": ...


SILENT = "this replica of the metadata log takes no part in the quorum"


def ask(role: HasQuorum, request: Request) -> Response:
    """Hangup where nothing may be said: the other side asks again, or another."""
    try:
        return role.quorum.answering.handle(request)
    except QuorumStopped as stopped:
        raise Hangup(SILENT) from stopped
