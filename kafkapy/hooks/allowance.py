"""What the calls of one hook for one topic may cost.

    each call earns its budget and costs what it took; what was not used is not kept:

    owed |        ____
         |   ____/    \\____            a slow call, then quick ones that pay it back
         |__/               \\______
         +------------------------------ calls

A call cannot be interrupted: one may take as long as it likes, once. What counts is what is owed
after several that were too long: one may have met a busy machine.
"""

from typing import Final

#: So many calls over their budget while something is owed are no accident.
AGAIN_AND_AGAIN: Final = 3


class Allowance:
    __slots__ = ("_budget_ns", "_overdraft_ns", "_overruns", "_owed_ns")

    def __init__(self, budget_us: int, overdraft_ms: int) -> None:
        self._budget_ns = budget_us * 1_000
        self._overdraft_ns = overdraft_ms * 1_000_000
        self._owed_ns = 0
        self._overruns = 0

    def spend(self, took_ns: int) -> bool:
        """Whether there may be another call."""
        over = took_ns - self._budget_ns
        if over > 0:
            self._overruns += 1
        self._owed_ns = max(self._owed_ns + over, 0)
        if not self._owed_ns:
            self._overruns = 0
        return self._owed_ns <= self._overdraft_ns or self._overruns < AGAIN_AND_AGAIN
