"""When the machine has something to do though nothing happens: a timer for its next tick."""

from kafkapy.core.seams import Callback, Clock, Timer
from kafkapy.core.time import NEVER
from kafkapy.kraft.quorum.quorum import Quorum


class Ticking:
    """`carry_out` does what the machine wants done after a tick."""

    def __init__(self, quorum: Quorum, clock: Clock, carry_out: Callback) -> None:
        self._quorum = quorum
        self._clock = clock
        self._carry_out = carry_out
        self._timer: Timer | None = None
        self._timer_at = NEVER

    def arm(self) -> None:
        """Something happened: the next tick may be another."""
        if self._timer is not None and self._timer_at <= self._clock.now():
            return  # about to tick: what is due now is nothing that will be
        self.stop()
        when = self._quorum.next_tick()
        if when != NEVER:
            self._timer = self._clock.call_at(when, self._tick)
            self._timer_at = when

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        self._timer = None
        self._quorum.tick(self._clock.now())
        self._carry_out()
