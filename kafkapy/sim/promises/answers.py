"""Nothing is told to anybody before the file system has it (`File.append`, core/seams.py).

    answer is there --> Promised: all appends so far --> answer leaves: are they written?

Most kills would not show that an answer left too early: they come at another moment, or what
was promised was written after all. So it is judged at every answer, and what clients find
after a death is judged besides.
"""

from typing import NamedTuple

from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.disk import SimDisk


class Promised(NamedTuple):
    """The appends that turns kept, after the `since`th up to the `upto`th."""

    since: int
    upto: int


class AnswersPromise:
    def __init__(self, disk: SimDisk) -> None:
        self._disk = disk
        self._since = 0

    def answer_is_there(self) -> Promised:
        return Promised(self._since, self._disk.kept)

    def answer_leaves(self, promised: Promised, what: str) -> None:
        if self._disk.kept - self._disk.unwritten_appends < promised.upto:
            raise BrokenPromise(f"{what} is answered before what was appended is written")
        for first, last in self._disk.lost_appends:
            if first <= promised.upto and last > promised.since:
                raise BrokenPromise(f"{what} is answered, and what was appended is lost")

    def losses_are_known(self) -> None:
        """Whatever is answered from now on may say so."""
        self._since = self._disk.kept
