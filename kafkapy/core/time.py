"""The one word for a moment.

An `Instant` is milliseconds since the Unix epoch, as Kafka writes timestamps. It comes
from `Clock.now()` or `Clock.wall()` (seams.py says which is for what) and never from the
standard library, so that a simulated clock can stand in for the real one.
"""

from typing import Final, NewType

Instant = NewType("Instant", int)

NEVER: Final = Instant(2**63 - 1)


def later(now: Instant, by_ms: int) -> Instant:
    """`now` plus a delay; delays of "for ever" (Long.MAX) do not overflow past NEVER."""
    return Instant(min(now + by_ms, NEVER))
