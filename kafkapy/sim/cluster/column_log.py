"""What happens in a cluster world as text: a line a moment, a column a node.

    time      | world                 | n1                    | n2                    | ...
    0.431       cut n1 n2               leads the metadata ...

The world's own column has the network, the nemesis and clients.
"""

import textwrap
from collections.abc import Callable, Sequence
from typing import Final

from kafkapy.core.seams import Clock

_TIME_WIDTH: Final = 9
_LEAST_WIDTH: Final = 16
# What is too much to read, and in the hash all the same.
_UNSHOWN: Final = ("disk ", "answer ")
_UNSHOWN_WORLD: Final = frozenset({"sends"})


class ColumnLog:
    """`Trace.on_line` of a world."""

    def __init__(
        self, clock: Clock, names: Sequence[str], width: int, write: Callable[[str], object]
    ) -> None:
        self._clock = clock
        self._began = clock.now()
        self._columns = {name: at for at, name in enumerate(names, 1)}
        self._width = max(_LEAST_WIDTH, (width - _TIME_WIDTH) // (len(names) + 1))
        self._write = write
        write(self._line("time", ["world", *names]))

    def __call__(self, who: str, told: str) -> None:
        column = self._columns.get(who, 0)
        if column == 0:
            if who in _UNSHOWN_WORLD:
                return
            told = f"{who} {told}"
        elif told.startswith(_UNSHOWN):
            return
        told = told.removeprefix("info ")
        passed_ms = self._clock.now() - self._began
        time = f"{passed_ms / 1000:.3f}"
        for piece in textwrap.wrap(told, self._width - 1) or [""]:
            cells = [""] * (len(self._columns) + 1)
            cells[column] = piece
            self._write(self._line(time, cells))
            time = ""

    def _line(self, time: str, cells: Sequence[str]) -> str:
        columns = "".join(cell.ljust(self._width) for cell in cells)
        return f"{time.ljust(_TIME_WIDTH)}{columns}".rstrip()
