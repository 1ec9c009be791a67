"""Partitions that a request makes or deletes, held against the client's quota of mutations.

    newer versions   what does not fit is refused: THROTTLING_QUOTA_EXCEEDED, try again
    older ones       everything is done, and the client throttled for it

What fits is decided before the controller is asked, what is charged after: only what it did.
KIP-599.
"""

from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.requests.request import Call
from kafkapy.core.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasClock, HasQuotas

    class Needs(HasClock, HasQuotas, Protocol): ...


EXCEEDED: Final = Refused(
    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
)


class Mutations:
    """Of one request."""

    def __init__(self, node: "Needs", call: "Call[Any]", *, strict_since: int) -> None:
        self._node = node
        self._call = call
        self._quotas = node.quotas
        self._is_strict = call.version >= strict_since
        self._left = float("inf")
        if self._quotas is not None:
            now = node.clock.now()
            self._left = self._quotas.mutations_left(call.peer, call.client_id, now)

    def fit(self, count: int) -> bool:
        """Whether `count` more partitions may be made or deleted. One request may overdraw."""
        if self._is_strict and self._left < 0:
            return False
        self._left -= max(count, 0)  # fewer partitions than there are will be refused
        return True

    def settle(self, count: int) -> int:
        """`count` were, in the end; the throttle time to tell."""
        if self._quotas is None:
            return 0
        call, now = self._call, self._node.clock.now()
        return self._quotas.mutate(call.peer, call.client_id, count, now)
