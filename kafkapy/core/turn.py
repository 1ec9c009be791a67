"""In a turn: appends, then one write, then the answers.

    begin -> requests are served -> one write of what they appended -> their answers leave
          -> what waited for the end -> a write and answers again -> end

A turn is what a node does in one go for the requests that are there together. Writing a
hundred bytes costs nearly as much as writing a thousand, and many small producers of one
partition come in the same turn: their appends are kept and written as one. Nobody is told
anything of a turn (`answer`) before all that was appended in it is written, and if that fails
nobody is told at all: `failed` ends all connections, as an answer that waits for something else may
promise what was lost as well.

What is kept belongs to one file, and only while nothing else happens on the disk: who reads,
flushes, cuts or closes that file, who writes to another one and who makes, renames or removes
any has it written first (`settle`). So the file system sees things in the order in which they
were done, and a process that is killed leaves the files as they were at some moment.

What parked fetches wait for may come several times in a turn. Answered at its end (`at_end`),
a fetch takes along all that came, and a busy node answers fewer and larger ones.

Outside of a turn nothing waits: appends are written and answers leave at once.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback

# From here on the system call matters less than copying what it would write.
SMALL_BYTES: Final = 4096


class Appended(Protocol):
    """A file that lets a turn keep what is appended to it."""

    def write_kept(self) -> None:
        """Write what is kept (`Turn.take`). DiskFailed: it is lost, and `Turn.lost` was told."""


class Turn:
    """Begun and ended by whoever reads requests: the reactor, or a simulated world."""

    __slots__ = ("_answers", "_at_end", "_kept", "_lost", "failed", "file", "gathers", "is_on")

    def __init__(self) -> None:
        self.is_on = False
        self.gathers = False  # whether appends are kept: not worth it for one request alone
        self.file: Appended | None = None  # whose appends are kept
        self.failed: Callable[[DiskFailed], None] = _nobody_waits
        self._kept: list[bytes] = []
        self._lost: list[DiskFailed] = []
        self._answers: list[Callback] = []
        self._at_end: list[Callback] | None = None

    def begin(self, *, gathers: bool = True) -> None:
        assert not self.is_on, "one turn at a time"
        self.is_on = True
        self.gathers = gathers
        self._at_end = []

    def answer(self, send: Callback) -> None:
        """Let `send` tell somebody something, once everything appended so far is written."""
        if self.is_on:
            self._answers.append(send)
        else:
            send()

    def at_end(self, then: Callback) -> None:
        """Do it when all requests of the turn are served; what it asks for in turn, at once."""
        if self._at_end is None:
            then()
        else:
            self._at_end.append(then)

    def write_and_answer(self) -> None:
        """One write, then the answers: at the end, and before that if they waited too long."""
        self._write()
        while self._answers:
            answers = self._answers
            self._answers = []
            for send in answers:
                send()
            self._write()  # sending may end a connection, and with it a member of a group

    def end(self) -> None:
        self.write_and_answer()
        waiting = self._at_end
        self._at_end = None
        if waiting:
            for then in waiting:
                then()
            self.write_and_answer()
        self.is_on = self.gathers = False

    # What files ask, in this order for an append: `takes`, then `keep` or their own write.

    def takes(self, file: Appended, size: int) -> bool:
        """Whether an append of so many bytes is kept. What came before it and will not be
        written together with it is written now; DiskFailed: that of the same file is lost."""
        if self.file is not None and self.file is not file:
            self.settle()
        if self.gathers and size <= SMALL_BYTES:
            return True
        if self.file is not None:
            file.write_kept()
        return False

    def keep(self, file: Appended, data: bytes) -> None:
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
            with suppress(DiskFailed):  # `lost` knows
                self.file.write_kept()

    def lost(self, failure: DiskFailed) -> None:
        """Of what was kept; whoever wanted it written may hear of it besides."""
        self._lost.append(failure)

    def _write(self) -> None:
        self.settle()
        if self._lost:
            lost, self._lost = self._lost, []
            self._answers.clear()  # whose records are among the lost ones is not told apart
            for failure in lost:
                self.failed(failure)


def _nobody_waits(failure: DiskFailed) -> None:
    raise failure
