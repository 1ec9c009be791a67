"""How much of something was used lately, and how long to wait until it is within its bound.

    Rate      an average over the last samples: bytes, time, connections
    Bucket    what may be used at once, and comes back by and by: controller mutations

Both measure as Apache Kafka does, so that a client is throttled for as long. KIP-13, KIP-599.
"""

from collections import deque
from typing import Final

from kafkapy.core.time import Instant

_SECOND_MS: Final = 1000


class Rate:
    """Per second, over `samples` windows. The time that is divided by is never less than all
    windows but the running one: one large request in a quiet time is not a high rate."""

    __slots__ = ("_samples", "_seen", "_total", "_window_ms")

    def __init__(self, samples: int, window_ms: int) -> None:
        self._samples = samples
        self._window_ms = window_ms
        # [begun, last used, used], the oldest first.
        self._seen: deque[list[float]] = deque()
        self._total = 0.0

    def record(self, used: float, now: Instant) -> None:
        seen = self._seen
        if not seen or now - seen[-1][0] >= self._window_ms:
            self._forget(now)
            seen.append([now, now, 0.0])
        seen[-1][1] = now
        seen[-1][2] += used
        self._total += used

    def measure(self, now: Instant) -> tuple[float, float]:
        """Used per second, and the milliseconds it was measured over."""
        self._forget(now)
        seen = self._seen
        elapsed = now - seen[0][0] if seen else 0
        missing = self._samples - 1 - elapsed // self._window_ms
        if missing > 0:
            elapsed += missing * self._window_ms
        elapsed = max(elapsed, 1)
        return self._total * _SECOND_MS / elapsed, elapsed

    def wait_ms(self, bound: float, now: Instant) -> int:
        """Until the average is within `bound`, if nothing more is used; 0 if it is."""
        measured, elapsed = self.measure(now)
        return 0 if measured <= bound else round((measured - bound) / bound * elapsed)

    def is_idle(self, now: Instant) -> bool:
        self._forget(now)
        return not self._seen

    def _forget(self, now: Instant) -> None:
        age = self._samples * self._window_ms
        seen = self._seen
        while seen and now - seen[0][1] >= age:
            self._total -= seen.popleft()[2]
        if not seen:
            self._total = 0.0  # what rounding has left over


class Bucket:
    """Holds what may be used in all windows at once; using more than is there is a debt."""

    __slots__ = ("_filled", "_seconds", "_tokens")

    def __init__(self, samples: int, window_ms: int) -> None:
        self._seconds = samples * window_ms / _SECOND_MS
        self._tokens: float | None = None
        self._filled = Instant(0)

    def left(self, bound: float, now: Instant) -> float:
        """Below 0: a debt."""
        most = bound * self._seconds
        if self._tokens is None:
            self._tokens = most
        else:
            gained = bound * (now - self._filled) / _SECOND_MS
            self._tokens = min(most, self._tokens + gained)
        self._filled = now
        return self._tokens

    def use(self, count: float, bound: float, now: Instant) -> None:
        self._tokens = self.left(bound, now) - count

    def wait_ms(self, bound: float, now: Instant) -> int:
        """Until the debt is paid."""
        left = self.left(bound, now)
        return 0 if left >= 0 else round(-left / bound * _SECOND_MS)

    def is_full(self, bound: float, now: Instant) -> bool:
        return self.left(bound, now) >= bound * self._seconds
