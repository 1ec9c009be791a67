"""Who is being asked right now, and who may be asked again when.

One request at a time goes to each replica (None: some bootstrap server); one that failed
is left alone for the backoff.
"""

from kafkapy.core.time import NEVER, Instant, later


class Peers:
    __slots__ = ("_asked_until", "_backoff_ms", "_backoff_until", "_timeout_ms")

    def __init__(self, *, timeout_ms: int, backoff_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._backoff_ms = backoff_ms
        self._asked_until: dict[int | None, Instant] = {}
        self._backoff_until: dict[int | None, Instant] = {}

    def is_ready(self, peer: int | None, now: Instant) -> bool:
        # An answer that never comes must not stop us for ever: hence the time limit.
        return now >= self.ready_at(peer)

    def ready_at(self, peer: int | None) -> Instant:
        return max(
            self._asked_until.get(peer, Instant(0)), self._backoff_until.get(peer, Instant(0))
        )

    def asked(self, peer: int | None, now: Instant) -> None:
        self._asked_until[peer] = later(now, self._timeout_ms)

    def answered(self, peer: int | None) -> None:
        self._asked_until.pop(peer, None)
        self._backoff_until.pop(peer, None)

    def failed(self, peer: int | None, now: Instant) -> None:
        self.rest(peer, now, self._backoff_ms)

    def rest(self, peer: int | None, now: Instant, by_ms: int) -> None:
        """There is no need to ask it again so soon."""
        self._asked_until.pop(peer, None)
        self._backoff_until[peer] = later(now, by_ms)

    def is_asked(self, peer: int | None, now: Instant) -> bool:
        return now < self._asked_until.get(peer, Instant(0))

    def forget(self) -> None:
        """A new epoch: what was asked before does not hold up what is asked now."""
        self._asked_until.clear()
        self._backoff_until.clear()

    def next_ready(self, now: Instant) -> Instant:
        """The next moment at which somebody becomes ready who was not at `now`."""
        times = (*self._asked_until.values(), *self._backoff_until.values())
        return min((when for when in times if when > now), default=NEVER)
