"""Long work in slices: some steps, then everybody else, then some more.

    start ──> slice ──call_soon──> slice ──call_soon──> slice ──> over
               step, step, step     │   ^ Pause: a timer; WAITING: `resume`
               (SLICE_US of cost)   └───┘

A job is a generator that yields what its last step cost: microseconds, by a count of what
was done times what one costs (measured once, and written where it is counted), not by a
clock. So a slice is about `SLICE_US` long everywhere, and the same steps
make the same slices in a simulation. A step should cost less than a slice; how much less
does not matter.

Jobs take turns: `Clock.call_soon` runs one slice a round, in the order they were asked for,
and in each round whatever is ready is served. So however many jobs there are, nobody waits
for more than one slice, and none of them for more than one slice of each of the others.

What a job has to say at its end, or about a failure, it says itself, as generators do: the
last lines are the end, `try` is there for failures, `finally` runs also when it is stopped.
"""

from collections import deque
from collections.abc import Generator
from typing import Final, NamedTuple

from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import later

# What a request may have to wait for; giving way costs some 30 us. Slices of 4 ms were to be
# seen in the slowest hundredth of the requests beside them.
SLICE_US: Final = 1000


class Pause(NamedTuple):
    """Yielded: go on so much later, by the clock."""

    ms: int


# Yielded: go on when `resume` is called.
WAITING: Final = None

Steps = Generator[int | Pause | None, None, None]

_OVER: Final = Pause(-1)


class Job:
    """Runs `steps` once it is started, until they end or `stop`."""

    __slots__ = (
        "_clock",
        "_has_resumed",
        "_is_running",
        "_is_waiting",
        "_steps",
        "_timer",
        "is_over",
    )

    def __init__(self, clock: Clock, steps: Steps) -> None:
        self.is_over = False
        self._clock = clock
        self._steps = steps
        self._timer: Timer | None = None
        self._is_running = False
        self._is_waiting = False
        self._has_resumed = False

    def start(self) -> None:
        """The first slice runs now: little work is done when this returns."""
        self._run()

    def start_soon(self) -> None:
        self._clock.call_soon(self._run)

    def resume(self) -> None:
        """What the job waits for, or is about to, has happened."""
        if self._is_waiting:
            self._is_waiting = False
            self._clock.call_soon(self._run)
        else:
            self._has_resumed = True

    def stop(self) -> None:
        """No further step. Asked for from within a step, that one is the last."""
        if self.is_over:
            return
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_running:
            self._steps.close()

    def _run(self) -> None:
        self._timer = None
        if self.is_over:
            return
        self._is_running = True
        try:
            left = SLICE_US
            while left > 0:
                step = next(self._steps, _OVER)
                if self.is_over:
                    self._steps.close()
                    return
                if step is WAITING:
                    if not self._has_resumed:
                        self._is_waiting = True
                        return
                    self._has_resumed = False
                elif isinstance(step, Pause):
                    if step is _OVER:
                        self.is_over = True
                    else:
                        when = later(self._clock.now(), step.ms)
                        self._timer = self._clock.call_at(when, self._run)
                    return
                else:
                    left -= step
            self._clock.call_soon(self._run)
        except BaseException:
            # Whatever ended it: who asks must not wait for its end.
            self.is_over = True
            raise
        finally:
            self._is_running = False


class Turns:
    """So many jobs at a time may do something; others wait, in the order they came."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: deque[Job] = deque()

    def enter(self, job: Job) -> Generator[None, None, None]:
        """Asked by the job itself, which has to `leave`."""
        if self._free:
            self._free -= 1
        else:
            self._waiting.append(job)
            yield WAITING  # until somebody leaves, who makes no room but hands it over

    def leave(self) -> None:
        if self._waiting:
            self._waiting.popleft().resume()
        else:
            self._free += 1
