"""How long turns took (core/turn.py): as long as what is ready waits for those before it.

Only where somebody looks (kafkapy/http/metrics): two looks at a clock a turn.
"""

from typing import Final

from kafkapy.core.histogram import Histogram

# A turn for one small request takes some ten microseconds.
_SECONDS: Final = (
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1, 0.25, 1.0, 5.0,
)  # fmt: skip


class TurnCounts:
    __slots__ = ("ending_seconds", "seconds", "sockets")

    def __init__(self) -> None:
        self.seconds = Histogram(_SECONDS)
        # Of them, writing what was appended and sending answers, at the end.
        self.ending_seconds = 0.0
        self.sockets = 0

    def took(self, seconds: float, ending: float, sockets: int) -> None:
        self.seconds.observe(seconds)
        self.ending_seconds += ending
        self.sockets += sockets
