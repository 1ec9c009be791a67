"""The Clock seam on Trio: one heap of timers, one task that sleeps until the next.

`now()` is Trio's monotonic clock, counted from what the wall clock said when the process
started: a step of the wall clock neither fires nor starves a timer. `wall()` follows it.
"""

import heapq
import itertools
import time
from collections import deque

import trio

from kafkapy.core.seams import Callback
from kafkapy.core.time import Instant


class LoopTimer:
    """One timer in the heap; cancelled ones stay there until their time has passed."""

    __slots__ = ("then",)

    def __init__(self, then: Callback) -> None:
        self.then: Callback | None = then

    def cancel(self) -> None:
        self.then = None


class LoopClock:
    """Times calls on the Trio loop. `run` must be running for anything to fire."""

    ticks = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self._began = time.time_ns(), time.perf_counter_ns()
        self._timers: list[tuple[float, int, LoopTimer]] = []
        self._order = itertools.count()
        self._soon: deque[Callback] = deque()
        self._sleep = trio.CancelScope()
        self.wakes_at = float("inf")
        """When the next timer is due, on `time.perf_counter`; 0 if something is due now."""

    def now(self) -> Instant:
        wall, counter = self._began
        return Instant((wall + time.perf_counter_ns() - counter) // 1_000_000)

    def wall(self) -> Instant:
        return Instant(time.time_ns() // 1_000_000)

    def call_at(self, when: Instant, then: Callback) -> LoopTimer:
        timer = LoopTimer(then)
        deadline = time.perf_counter() + max(0, when - self.now()) / 1000
        heapq.heappush(self._timers, (deadline, next(self._order), timer))
        self._wake_by(deadline)
        return timer

    def call_soon(self, then: Callback) -> None:
        self._soon.append(then)
        self._wake_by(0.0)

    async def run(self) -> None:
        """Fire what is due, for ever. Slices asked for with `call_soon` run one a round."""
        while True:
            self._fire_due()
            if self._soon:
                self._soon.popleft()()
                await trio.lowlevel.checkpoint()
                continue
            await self._sleep_until_next()

    def _fire_due(self) -> None:
        timers, now = self._timers, time.perf_counter()
        while timers and timers[0][0] <= now:
            then = heapq.heappop(timers)[2].then
            if then is not None:
                then()

    async def _sleep_until_next(self) -> None:
        while self._timers and self._timers[0][2].then is None:
            heapq.heappop(self._timers)
        self.wakes_at = self._timers[0][0] if self._timers else float("inf")
        # perf_counter is Trio's clock with another zero.
        deadline = trio.current_time() + (self.wakes_at - time.perf_counter())
        with trio.CancelScope(deadline=deadline) as self._sleep:
            await trio.sleep_forever()
        self.wakes_at = 0.0

    def _wake_by(self, deadline: float) -> None:
        if deadline < self.wakes_at:
            self.wakes_at = deadline
            self._sleep.deadline = trio.current_time() + max(0.0, deadline - time.perf_counter())
