"""Small appends of a round, written together before any of its answers leaves.

    append, append, append --> one write --> the answers are sent

Writing a hundred bytes costs nearly as much as writing a thousand. Many small producers of
one partition come in the same round, and none of them hears of its records before the round
sends its answers. Until then they are kept, as long as nothing else happens on the disk: who
reads, flushes, cuts or closes the file, who writes to another one and who renames or removes
any has them written first. So after a `kill -9` the files are as they were at some moment.

If that write fails nothing has been promised yet, though the answers say so: `failed` sees
to it that none of them leaves.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from kafkapy.core.errors import DiskFailed

# From here on the system call matters less than copying what it would write.
SMALL_BYTES: Final = 4096


class Gatherer(Protocol):
    def write_gathered(self) -> None:
        """Write what is kept. DiskFailed: it is lost, and `Gathering.lost` was told."""


class Gathering:
    """`is_on` while a round lasts: whoever begins and ends it sees to that."""

    __slots__ = ("_kept", "_lost", "failed", "file", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        self.file: Gatherer | None = None  # whose appends are kept
        self._kept: list[bytes] = []
        self.failed: Callable[[DiskFailed], None] = _nobody_waits
        self._lost: list[DiskFailed] = []

    def keep(self, file: Gatherer, data: bytes) -> None:
        """For `file`, the only one with something to write."""
        self.file = file
        self._kept.append(data)

    def take(self) -> bytes:
        """What `file` has to write, which it does now."""
        data = b"".join(self._kept)
        self._kept.clear()
        self.file = None
        return data

    def settle(self) -> None:
        """Something else is to happen on the disk, after what was appended."""
        if self.file is not None:
            with suppress(DiskFailed):
                self.file.write_gathered()

    def write(self) -> None:
        """Answers are about to leave."""
        self.settle()
        if self._lost:
            lost, self._lost = self._lost, []
            for failure in lost:
                self.failed(failure)

    def lost(self, failure: DiskFailed) -> None:
        """Of what was gathered; whoever wanted it written may hear of it besides."""
        self._lost.append(failure)


def _nobody_waits(failure: DiskFailed) -> None:
    raise failure
