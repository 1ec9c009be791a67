"""Who may be connected, and who is asked to go when there are too many.

    busy    a request of it is being answered, other than for health: `http.max.connections`
            of them at most, and who asks when they are is answered 503
    others  have never asked, or are idle, or are told how the node is

A connection costs whoever opens it nothing, and he need not log in. So those that are not busy give
way to new ones, in that order, and of each kind those that are so for longest. There is room for
some more connections than may be busy: whoever restarts a node that does not say that it lives
(Kubernetes) is answered, however many are there.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

# More than may be busy: so many may ask at a time how the node is.
SPARE: Final = 16
_MOST_TOLD: Final = 100


class Connection:
    """When it has to go, `hang_up` is called and `scope` cancelled: what waits for a reader who
    reads nothing is not cut off by the latter alone (Hypercorn shields it)."""

    def __init__(self, hang_up: Callable[[], object]) -> None:
        self.hang_up = hang_up
        self.scope = trio.CancelScope()
        self.has_asked = False
        self.since = trio.current_time()
        # Requests that are being answered; of them, those that make it busy.
        self.answering = self.counted = 0
        self._told: set[object] = set()

    def was_told(self, known: object) -> bool:
        """Whether it was said before who asks by it. A proxy's connection is used by many: of
        more than a few it is said again."""
        if known in self._told:
            return True
        if len(self._told) >= _MOST_TOLD:
            self._told.clear()
        self._told.add(known)
        return False


class Connections:
    def __init__(self, most_busy: int) -> None:
        self._most_busy = most_busy
        self._busy = 0
        self._all: set[Connection] = set()

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, hang_up: Callable[[], object]) -> Connection:
        if len(self._all) >= self._most_busy + SPARE:
            self._make_room()
        made = Connection(hang_up)
        self._all.add(made)
        return made

    def leave(self, one: Connection) -> None:
        self._all.discard(one)

    @contextmanager
    def answering(self, one: Connection, *, is_health: bool) -> Iterator[bool]:
        """Whether the request may be answered."""
        is_counted = not is_health and (one.counted > 0 or self._busy < self._most_busy)
        one.has_asked, one.since = True, trio.current_time()
        one.answering += 1
        if is_counted:
            self._busy += not one.counted
            one.counted += 1
        try:
            yield is_counted or is_health
        finally:
            one.answering -= 1
            one.since = trio.current_time()
            if is_counted:
                one.counted -= 1
                self._busy -= not one.counted

    def _make_room(self) -> None:
        """Not all are busy: there are more than may be."""
        idle = (one for one in self._all if not one.counted)
        gone = min(idle, key=lambda one: (one.answering > 0, one.has_asked, one.since))
        self._all.discard(gone)
        gone.hang_up()
        gone.scope.cancel()
