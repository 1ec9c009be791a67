"""How many bytes went by in a second, lately, and how long to wait until that is little enough.

As Kafka measures its replication quotas (KIP-73): samples of a second, of which eleven count;
the rate is their sum over the time since the oldest of them began, a second at least.
"""

from collections import deque
from typing import Final

from kafkapy.core.time import Instant

NO_LIMIT: Final = 2**63 - 1
_SAMPLE_MS: Final = 1_000
_SAMPLES: Final = 11


class ByteRate:
    """`limit` in bytes a second may be changed at any time."""

    __slots__ = ("_samples", "_total", "limit")

    def __init__(self, limit: int = NO_LIMIT) -> None:
        self.limit = limit
        self._samples: deque[tuple[Instant, int]] = deque()  # began, bytes
        self._total = 0

    def record(self, size: int, now: Instant) -> None:
        self._forget_old(now)
        samples = self._samples
        self._total += size
        if samples and now - samples[-1][0] < _SAMPLE_MS:
            began, before = samples[-1]
            samples[-1] = (began, before + size)
        else:
            samples.append((now, size))

    def wait_ms(self, now: Instant) -> int:
        """0 while the rate is within the limit."""
        self._forget_old(now)
        if not self._samples:
            return 0
        began = self._samples[0][0]
        elapsed_ms = max(now - began, _SAMPLE_MS)
        if self._total * 1000 <= self.limit * elapsed_ms:
            return 0
        # Until then nothing is forgotten, and what is forgotten changes the rate.
        longest_ms = began + _SAMPLE_MS * _SAMPLES - now
        if not self.limit:
            return longest_ms
        due_ms = -(-self._total * 1000 // self.limit) - (now - began)
        return max(1, min(due_ms, longest_ms))

    def is_exceeded(self, now: Instant) -> bool:
        return self.wait_ms(now) > 0

    def _forget_old(self, now: Instant) -> None:
        samples = self._samples
        while samples and now - samples[0][0] >= _SAMPLE_MS * _SAMPLES:
            self._total -= samples.popleft()[1]
