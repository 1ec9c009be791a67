"""Long work in short turns: some steps, then everybody else, then some more."""

from collections.abc import Iterator
from typing import Final

from kafkapy.core.seams import Callback, Clock

# Records, or what takes as long as one, between two turns: a few milliseconds of work.
RECORDS_PER_SLICE: Final = 500


class Slices:
    """Runs `steps` to its end, a slice at a time, the first at once; then `then`. A step
    yields how many records it took on."""

    def __init__(self, clock: Clock, steps: Iterator[int], then: Callback) -> None:
        self._clock = clock
        self._steps = steps
        self._then = then
        self._is_stopped = False
        self._run()

    def stop(self) -> None:
        self._is_stopped = True

    def _run(self) -> None:
        if self._is_stopped:
            return
        left = RECORDS_PER_SLICE
        for count in self._steps:
            left -= count
            if left <= 0:
                self._clock.call_soon(self._run)
                return
        self._then()
