"""A history that knows when each thing happened too, for the longest time without one."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from compat_tests.crashes.recording import Recording
from kafkapy.sim.checkers import Operation, Outcome
from kafkapy.sim.checkers.history import Step


def longest_gap(times: Iterable[float], since: float, until: float) -> float:
    """The longest time in which none of `times` lies; all of them on one clock."""
    inside = [one for one in times if since <= one <= until]
    return max(after - before for before, after in pairwise([since, *inside, until]))


@dataclass(slots=True)
class TimedRecording(Recording):
    """`succeeded`: of each process, when its operations ended well (time.monotonic())."""

    succeeded: dict[int, list[float]] = field(default_factory=dict)

    def complete(self, operation: Operation, outcome: Outcome, steps: Sequence[Step]) -> None:
        if outcome is Outcome.OK and steps:
            self.succeeded.setdefault(operation.process, []).append(time.monotonic())
        Recording.complete(self, operation, outcome, steps)

    def longest_gap(self, processes: Iterable[int], since: float, until: float) -> float:
        """Of the process that waited longest."""
        return max(
            longest_gap(list(self.succeeded.get(one, ())), since, until) for one in processes
        )
