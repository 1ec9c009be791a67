"""Time that a test can move: retention, sessions and timeouts without waiting for them.

The broker's clock runs as always, and `advance` adds to it. Timers that are due by then
fire in their order. Only the broker's time moves: a client whose session ends that way
notices at its next heartbeat, by its own clock.
"""

from collections.abc import Callable

from kafkapy.core.time import Instant
from kafkapy.server.clock import LoopClock


class AdvancingClock(LoopClock):
    """A LoopClock that can be put forward; on the broker's loop."""

    def __init__(self, ahead_ms: int = 0) -> None:
        super().__init__()
        self._ahead_ms = ahead_ms

    def now(self) -> Instant:
        return Instant(super().now() + self._ahead_ms)

    def wall(self) -> Instant:
        return Instant(super().wall() + self._ahead_ms)

    def advance(self, by_ms: int) -> None:
        self._ahead_ms += by_ms
        # All by the same: the heap stays a heap. In place, because `run` holds the list.
        self._timers[:] = [(at - by_ms / 1000, order, one) for at, order, one in self._timers]
        if self._timers:
            self._wake_by(self._timers[0][0])


class Time:
    """`kafka.clock`, for the test's thread."""

    def __init__(self, advance: Callable[[int], None]) -> None:
        self.ahead_ms = 0
        self._advance = advance

    def advance(
        self, *, hours: float = 0, minutes: float = 0, seconds: float = 0, ms: int = 0
    ) -> None:
        """Put the broker's clock forward; what is due happens before any later request."""
        by_ms = round(((hours * 60 + minutes) * 60 + seconds) * 1000) + ms
        if by_ms <= 0:
            raise ValueError(f"advance by {by_ms} ms: time goes forward only")
        self._advance(by_ms)
        self.ahead_ms += by_ms
