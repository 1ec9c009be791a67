"""What the handlers of the quorum's requests share: ask the replica here, or hang up."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from kafkapy.broker.requests.request import Fields, Hangup, Later
from kafkapy.kraft.quorum.answering import QuorumStopped
from kafkapy.kraft.quorum.messages import Request, Response, VoterChangeRequest

if TYPE_CHECKING:
    from kafkapy.kraft.metadata_quorum import MetadataQuorum


class HasQuorum(Protocol):
    @property
    def quorum(self) -> "MetadataQuorum": ...


# Not worth a line: a replica takes no part for a moment at its start and at its end.
SILENT = ""


def ask(role: HasQuorum, request: Request) -> Response:
    """Hangup where nothing may be said: the other side asks again, or another."""
    try:
        return role.quorum.answering.handle(request)
    except QuorumStopped as stopped:
        raise Hangup(SILENT) from stopped


def ask_for_change(
    role: HasQuorum, request: VoterChangeRequest, answer: Callable[[Any], Fields]
) -> Later:
    """A change of the voters, answered when it is there. Hangup as above."""
    later = Later()
    try:
        role.quorum.voter_changes.ask(request, lambda told: later.resolve(answer(told)))
    except QuorumStopped as stopped:
        raise Hangup(SILENT) from stopped
    return later
