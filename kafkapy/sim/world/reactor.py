"""What is ready is served in turns (core/turn.py), as `server/sockets/reactor.py` serves sockets.

    arrives, arrives, ... (a few ms) --> begin --> served --> one write --> answers leave --> end

Whatever comes while the loop is busy is served in one turn: requests, and what the threads of
the disk have finished. How long it is busy, whether a lone request is treated as one among
several, and whether answers waited too long and leave in the middle, is chance.
"""

from collections import deque
from typing import Final

from kafkapy.core.seams import Callback, Clock
from kafkapy.core.time import later
from kafkapy.core.turn import Turn
from kafkapy.sim.world.rng import SimRng

BUSY_PERCENT: Final = 40
_LONGEST_BUSY_MS: Final = 4
_GATHERS_ALONE_PERCENT: Final = 50
_ANSWERS_EARLY_PERCENT: Final = 10


class SimReactor:
    """Lives as long as the process of one node."""

    def __init__(self, clock: Clock, rng: SimRng) -> None:
        self.turn = Turn()
        self.busy_percent = BUSY_PERCENT
        self._clock = clock
        self._rng = rng
        self._ready: deque[Callback] = deque()

    def arrives(self, serve: Callback) -> None:
        if not self._ready:
            busy_ms = (
                self._rng.below(_LONGEST_BUSY_MS) if self._rng.chance(self.busy_percent) else 0
            )
            self._clock.call_at(later(self._clock.now(), busy_ms), self._round)
        self._ready.append(serve)

    def _round(self) -> None:
        ready, self._ready = self._ready, deque()
        turn, rng = self.turn, self._rng
        turn.begin(gathers=len(ready) > 1 or rng.chance(_GATHERS_ALONE_PERCENT))
        for serve in ready:
            serve()
            if rng.chance(_ANSWERS_EARLY_PERCENT):
                turn.write_and_answer()
        turn.end()
