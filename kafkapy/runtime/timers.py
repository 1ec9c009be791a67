"""The timers of one machine: thousands of deadlines behind one call of the clock.

Heartbeats move a deadline far more often than one is reached. So moving it later only
writes a dict; the heap keeps the older entry, and when that comes up it is put back in
with the deadline that then holds.
"""

from collections.abc import Callable, Hashable
from heapq import heappop, heappush

from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import NEVER, Instant


class Timers:
    def __init__(self, clock: Clock, fire: Callable[[Hashable], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._due: dict[Hashable, Instant] = {}
        # (when, tie-break, key): keys of different types do not compare.
        self._heap: list[tuple[Instant, int, Hashable]] = []
        self._queued: dict[Hashable, Instant] = {}
        self._sequence = 0
        self._wake_at: Instant = NEVER
        self._wake: Timer | None = None

    def __len__(self) -> int:
        return len(self._due)

    def due(self, key: Hashable) -> Instant | None:
        return self._due.get(key)

    def arm(self, key: Hashable, when: Instant) -> None:
        self._due[key] = when
        queued = self._queued.get(key)
        if queued is None or when < queued:
            self._push(key, when)
            if when < self._wake_at:
                self._wake_up_at(when)

    def clear(self, key: Hashable) -> None:
        self._due.pop(key, None)

    def clear_all(self) -> None:
        self._due.clear()
        self._queued.clear()
        self._heap.clear()
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        self._wake_at = NEVER

    def _push(self, key: Hashable, when: Instant) -> None:
        self._sequence += 1
        self._queued[key] = when
        heappush(self._heap, (when, self._sequence, key))

    def _wake_up_at(self, when: Instant) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake_at = when
        self._wake = self._clock.call_at(when, self._run)

    def _run(self) -> None:
        self._wake = None
        self._wake_at = NEVER
        now = self._clock.now()
        ready: list[Hashable] = []
        while self._heap and self._heap[0][0] <= now:
            when, _, key = heappop(self._heap)
            if self._queued.get(key) != when:
                continue  # an earlier entry of this key was pushed since
            del self._queued[key]
            due = self._due.get(key)
            if due is None:
                continue
            if due <= now:
                ready.append(key)
            else:
                self._push(key, due)
        if self._heap:
            self._wake_up_at(self._heap[0][0])
        for key in ready:
            # An earlier one of this round may have cleared or moved this one.
            if self._due.get(key, NEVER) <= now:
                del self._due[key]
                self._fire(key)
