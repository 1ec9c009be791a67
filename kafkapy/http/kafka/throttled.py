"""Whom the node does not hear for a while, because of a quota: who asks by HTTP is not to get more
than who asks by Kafka's protocol.

There is no connection to mute: the next request of the same principal is refused (429, with
Retry-After), and a page that asks more than once, or as long as it is read, waits in between.
Of those whose name nobody knows each address is one.
"""

from typing import Final

from kafkapy.broker.requests.request import ANONYMOUS
from kafkapy.core.time import Instant

# Those that wait no more are forgotten when there are so many.
_MOST: Final = 10_000


class Throttled:
    """On HTTP's thread. Times are the node's clock's."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], Instant] = {}

    def note(self, principal: str, host: str, until: Instant, now: Instant) -> None:
        if len(self._until) >= _MOST:
            self._until = {who: one for who, one in self._until.items() if one > now}
        who = _who(principal, host)
        self._until[who] = max(until, self._until.get(who, until))

    def wait_ms(self, principal: str, host: str, now: Instant) -> int:
        return max(0, self._until.get(_who(principal, host), now) - now)


def _who(principal: str, host: str) -> tuple[str, str]:
    return principal, host if principal == ANONYMOUS else ""
