"""One machine's view of time: behind or ahead of the others, a little too fast or too slow.

What a process asks for runs in that process: not while it is paused, and not after its death.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.seams import Callback
from kafkapy.core.time import NEVER, Instant, later
from kafkapy.sim.world.clock import SimClock, SimTimer
from kafkapy.sim.world.rng import SimRng

_MILLION: Final = 1_000_000
_LONGEST_SOON_MS: Final = 4


class HostTimer:
    """Also what is due and waits for a paused process can be cancelled."""

    __slots__ = ("_base", "_then")

    def __init__(self, base: SimTimer, then: Callback) -> None:
        self._base = base
        self._then: Callback | None = then

    def cancel(self) -> None:
        self._base.cancel()
        self._then = None

    def fire(self) -> None:
        then, self._then = self._then, None
        if then is not None:
            then()


class HostClock:
    """See the seam `Clock`. `of_a_life` says what runs a callback in the process."""

    def __init__(self, base: SimClock, *, skew_ms: int, drift_ppm: int) -> None:
        self._run: Callable[[Callback], None] = _at_once
        self._base = base
        self._began = base.now()
        self._skew_ms = skew_ms
        self._wall_ahead_ms = 0
        self._rate = _MILLION + drift_ppm  # of this clock's milliseconds in a million true ones
        self._delays: SimRng | None = None
        self._last_soon = base.now()

    def now(self) -> Instant:
        true_ms = self._base.now() - self._began
        return Instant(self._began + self._skew_ms + true_ms * self._rate // _MILLION)

    def wall(self) -> Instant:
        """Whoever sets the base's wall clock sets that of all hosts."""
        base_ahead_ms = self._base.wall() - self._base.now()
        return Instant(self.now() + base_ahead_ms + self._wall_ahead_ms)

    def ticks(self) -> float:
        return self.now() / 1000

    def call_at(self, when: Instant, then: Callback) -> "HostTimer":
        if when == NEVER:
            return HostTimer(self._base.call_at(when, then), then)
        wait_ms = max(0, when - self.now())
        true_ms = -(-wait_ms * _MILLION // self._rate)  # rounded up: never too early
        when = self._soon() if not true_ms else later(self._base.now(), true_ms)
        base = self._base.call_at(when, lambda: self._run(timer.fire))
        timer = HostTimer(base, then)
        return timer

    # Whoever makes trouble.

    def set_wall(self, ahead_ms: int) -> None:
        """Somebody sets this machine's wall clock, either way."""
        self._wall_ahead_ms = ahead_ms

    def drift(self, ppm: int) -> None:
        """From now on the clock is so much too fast; what it showed it does not take back."""
        now = self.now()
        self._began = self._base.now()
        self._skew_ms = now - self._began
        self._rate = _MILLION + ppm

    def soon_is_later(self, rng: SimRng) -> None:
        """The processor has much to do: what is to be called soon waits for some milliseconds."""
        self._delays = rng

    def of_a_life(self, run: Callable[[Callback], None]) -> "HostClock":
        """The same clock for the next process."""
        clock = HostClock(self._base, skew_ms=self._skew_ms, drift_ppm=self._rate - _MILLION)
        clock._began = self._began
        clock._wall_ahead_ms = self._wall_ahead_ms
        clock._delays = self._delays
        clock._run = run
        return clock

    def call_soon(self, then: Callback) -> None:
        if self._delays is None:
            self._base.call_soon(lambda: self._run(then))
        else:
            self._base.call_at(self._soon(), lambda: self._run(then))

    def _soon(self) -> Instant:
        """In the order of asking."""
        if self._delays is not None:
            soon = later(self._base.now(), self._delays.below(_LONGEST_SOON_MS))
            self._last_soon = max(self._last_soon, soon)
            return self._last_soon
        return self._base.now()


def _at_once(then: Callback) -> None:
    then()
