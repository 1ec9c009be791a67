"""Long work in short turns: some steps, then everybody else, then some more."""

from collections.abc import Iterator
from itertools import islice

from kafkapy.core.seams import Callback, Clock


class Slices:
    """Runs `steps` to its end, `size` at a time, the first ones at once; then `then`."""

    def __init__(self, clock: Clock, steps: Iterator[None], size: int, then: Callback) -> None:
        self._clock = clock
        self._steps = steps
        self._size = size
        self._then = then
        self._is_stopped = False
        self._run()

    def stop(self) -> None:
        self._is_stopped = True

    def _run(self) -> None:
        if self._is_stopped:
            return
        done = sum(1 for _ in islice(self._steps, self._size))
        if done == self._size:
            self._clock.call_soon(self._run)
        else:
            self._then()
