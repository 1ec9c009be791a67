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
    windows but the running one: one large request in a quiet time is not a high rate.

        recorded --+-- spared, until the running sample ends --+
                   |   `use`: one addition, nobody looks        |--> recorded

    What could be used without anybody being throttled for it, whatever is forgotten meanwhile, is
    spared: it is added to a number, and recorded as one sum when somebody next records or asks,
    in the sample in which it was used. The averages are those of recording each by itself
    (tests/broker/quotas/test_sparing.py)."""

    __slots__ = (
        "_samples",
        "_seen",
        "_spared",
        "_spared_from",
        "_spared_until",
        "_total",
        "_used",
        "_used_at",
        "_window_ms",
    )

    def __init__(self, samples: int, window_ms: int) -> None:
        self._samples = samples
        self._window_ms = window_ms
        # [begun, last used, used], the oldest first.
        self._seen: deque[list[float]] = deque()
        self._total = 0.0
        # Of `_spared`, so much is used; when it last was. Nothing is spared at first.
        self._used = self._spared = 0.0
        self._spared_from = self._spared_until = self._used_at = Instant(0)

    def fits(self, used: float, now: Instant) -> bool:
        """Whether it may be `use`d. Not in a time that is not the running sample's: `now` may be
        a guess."""
        return self._used + used <= self._spared and self._spared_from <= now < self._spared_until

    def use(self, used: float, now: Instant) -> None:
        """What fits."""
        self._used += used
        self._used_at = now

    def spare(self, bound: float) -> None:
        """After what has just been recorded, which is within `bound`."""
        if not self._seen:
            return
        # No average is over less time than this.
        most = bound * (self._samples - 1) * self._window_ms / _SECOND_MS
        begun = int(self._seen[-1][0])
        self._spared = max(most - self._total, 0.0)
        self._spared_from = self._used_at = Instant(begun)
        self._spared_until = Instant(begun + self._window_ms)

    def settle(self) -> None:
        """Record what was used of what was spared; nothing is, then."""
        used = self._used
        self._used = self._spared = 0.0
        self._spared_until = self._spared_from
        if used > 0:
            sample = self._seen[-1]
            sample[1] = max(sample[1], self._used_at)
            sample[2] += used
            self._total += used

    def record(self, used: float, now: Instant) -> None:
        self.settle()
        seen = self._seen
        if not seen or now - seen[-1][0] >= self._window_ms:
            self._forget(now)
            seen.append([now, now, 0.0])
        seen[-1][1] = now
        seen[-1][2] += used
        self._total += used

    def measure(self, now: Instant) -> tuple[float, float]:
        """Used per second, and the milliseconds it was measured over."""
        self.settle()
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
        self.settle()
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
