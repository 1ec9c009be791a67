"""When the machine or the process dies: at a change of the disk or an answer, counted.

    world.power.cut_after(17) --> 17 changes and flushes happen --> PowerCut out of the 18th

Of what happens in a turn (core/turn.py) that is between two appends, before the write, in the
middle of it, between it and the answers, or between two of these.

PowerCut flies through whatever the node is doing, up to whoever turns the clock. Until
`restore` every further change raises it again: a dead node writes nothing. What is left of
it (a generator that is collected later, and cleans up) has a `DiskOfALife` that is over.
"""

from typing import Any, Final

from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.file import Interrupted
from kafkapy.sim.world.journal import Notes
from kafkapy.sim.world.rng import SimRng

IN_A_TURN: Final = frozenset({"keep", "append", "answer"})


class PowerCut(Interrupted):
    """The node died here. Not an Exception: nothing may catch it by accident."""


class Power:
    """What `SimDisk.on_write` asks before every change and every flush, and whoever lets an
    answer leave."""

    def __init__(self, rng: SimRng, trace: Notes) -> None:
        self.changes = 0
        self._left: int | None = None
        self._kinds: frozenset[str] = frozenset()
        self._is_off = False
        self._rng = rng
        self._trace = trace

    @property
    def is_off(self) -> bool:
        return self._is_off

    @property
    def is_planned(self) -> bool:
        return self._left is not None

    def cut_after(self, changes: int | None, kinds: frozenset[str] = frozenset()) -> None:
        """Die instead of making the change after so many (of these kinds, if any are named);
        None: not by itself."""
        self._left = changes
        self._kinds = kinds

    def restore(self) -> None:
        self._is_off = False
        self._left = None

    def off(self) -> None:
        self._is_off = True

    def __call__(self, kind: str, path: str, size: int) -> None:
        self.changes += 1
        if self._left is not None and (not self._kinds or kind in self._kinds):
            if self._left == 0:
                self._is_off = True
                self._left = None
            else:
                self._left -= 1
        if self._is_off:
            through = self._rng.below(size + 1) if size else 0
            self._trace.note("cut", kind, path, through)
            raise PowerCut(f"{kind} {path}", through)
        self._trace.note("disk", kind, path, size)


class DiskOfALife:
    """The seam `Disk`, for as long as one node lives; nothing happens after that."""

    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk
        self.is_over = False

    def __getattr__(self, name: str) -> Any:
        return _nothing if self.is_over else getattr(self._disk, name)


def _nothing(*_: object, **__: object) -> None:
    pass
