"""Virtual time: the Clock seam as a heap that somebody else turns.

    due timers  -->  one `call_soon`  -->  nothing is ready: time jumps to the next timer

Nothing runs by itself. `step` runs one callback, `advance` and `run_until` many; callbacks
of one instant run in the order they were asked for, so a run is the same every time. The
order is that of `server/clock.py`.
"""

import heapq
from collections import deque
from collections.abc import Callable
from typing import Final

from kafkapy.core.seams import Callback
from kafkapy.core.time import Instant, later

# 2026-01-01: young enough for timestamps that look like today's.
BEGINNING: Final = Instant(1_767_225_600_000)
# Callbacks in one instant before we say that somebody calls himself for ever.
_MAX_CALLS_PER_INSTANT: Final = 1_000_000


class SimTimer:
    """One timer in the heap; cancelled ones stay there until their time has passed."""

    __slots__ = ("then",)

    def __init__(self, then: Callback) -> None:
        self.then: Callback | None = then

    def cancel(self) -> None:
        self.then = None


class SimClock:
    """See the seam `Clock`."""

    def __init__(self, beginning: Instant = BEGINNING) -> None:
        self.calls = 0
        self._now = beginning
        self._wall_ahead_ms = 0
        self._timers: list[tuple[Instant, int, SimTimer]] = []
        self._order = 0
        self._soon: deque[Callback] = deque()
        self._calls_this_instant = 0

    # The seam.

    def now(self) -> Instant:
        return self._now

    def wall(self) -> Instant:
        return Instant(self._now + self._wall_ahead_ms)

    def ticks(self) -> float:
        return self.now() / 1000

    def call_at(self, when: Instant, then: Callback) -> SimTimer:
        timer = SimTimer(then)
        self._order += 1
        heapq.heappush(self._timers, (max(when, self._now), self._order, timer))
        return timer

    def call_soon(self, then: Callback) -> None:
        self._soon.append(then)

    # Whoever turns it.

    def step_wall(self, by_ms: int) -> None:
        """Somebody sets the wall clock, either way; nothing that waits may notice."""
        self._wall_ahead_ms += by_ms

    def step(self, until: Instant) -> bool:
        """Run one callback, moving time up to `until` if need be; False: none is left."""
        then = self._pop_due(self._now)
        if then is None and self._soon:
            then = self._soon.popleft()
        if then is None:
            then = self._pop_due(until)
        if then is None:
            return False
        self.calls += 1
        self._calls_this_instant += 1
        assert self._calls_this_instant < _MAX_CALLS_PER_INSTANT, ("time stands still", then)
        then()
        return True

    def advance(self, by_ms: int) -> None:
        """Run all there is to run in the next `by_ms`."""
        until = later(self._now, by_ms)
        while self.step(until):
            pass
        self._move(until)

    def settle(self) -> None:
        """Run what is ready now."""
        self.advance(0)

    def run_until(self, condition: Callable[[], bool], within_ms: int) -> bool:
        """Run until `condition` holds; False: it does not, and the time is up."""
        until = later(self._now, within_ms)
        while not condition():
            if not self.step(until):
                self._move(until)
                return condition()
        return True

    def forget_all(self) -> None:
        """Whoever asked for calls is gone; time goes on."""
        self._timers.clear()
        self._soon.clear()

    def _pop_due(self, until: Instant) -> Callback | None:
        timers = self._timers
        while timers and timers[0][0] <= until:
            when, _, timer = heapq.heappop(timers)
            if timer.then is not None:
                self._move(when)
                return timer.then
        return None

    def _move(self, when: Instant) -> None:
        if when > self._now:
            self._now = when
            self._calls_this_instant = 0
