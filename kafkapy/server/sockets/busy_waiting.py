"""Whether to look again and again for a moment, before sleeping until a socket is ready.

A sleeping processor takes as long to wake up as a small request takes to be served: a client
that sends its next request when it has the answer to the last is served nearly twice as fast
by one that does not go to sleep in between, and for less processor time. That pays if
requests come soon. Whether they do is tried now and then, and each time they do not, more
seldom: where none comes soon, next to nothing is spent on looking.
"""

from collections.abc import Callable
from typing import Final

Events = list[tuple[int, int]]

MOST_EVENTS: Final = 256
# What is soon, in seconds;
MOMENT: Final = 0.00006
# the share of the last waits (of eight, about) that has to end so soon, what is assumed at
# first, and what is all of them;
ENOUGH, ASSUMED, ALL = 0.8, 0.9, 0.9999
# and how many waits are slept through after fewer did, the first time and at most.
SHORTEST_PAUSE: Final = 64
LONGEST_PAUSE: Final = 8192


class Haste:
    """Asked before each sleep."""

    __slots__ = ("_clock", "_next_pause", "_pause", "_poll", "_share_met")

    def __init__(self, poll: Callable[[float, int], Events], clock: Callable[[], float]) -> None:
        self._poll = poll
        self._clock = clock
        self._pause = 0
        self._next_pause = SHORTEST_PAUSE
        self._share_met = ASSUMED

    def poll(self) -> Events:
        """What is ready, if something is within the moment and that was to be expected."""
        if self._pause:
            self._pause -= 1
            return []
        poll, clock = self._poll, self._clock
        until = clock() + MOMENT
        while not (events := poll(0, MOST_EVENTS)):
            if clock() > until:
                self._was_in_vain()
                return []
        self._share_met += (1.0 - self._share_met) / 8
        if self._share_met > ALL:
            self._next_pause = SHORTEST_PAUSE
        return events

    def _was_in_vain(self) -> None:
        self._share_met -= self._share_met / 8
        if self._share_met < ENOUGH:
            self._share_met = ASSUMED
            self._pause = self._next_pause
            self._next_pause = min(2 * self._next_pause, LONGEST_PAUSE)
