"""Who waits for the high watermark of a partition (acks=all), in the order of the offsets.

Offsets are appended in order, so waiting is a queue and the watermark lets out its front.
Only a retry of an older batch comes in between.
"""

from collections import deque
from collections.abc import Callable

from kafkapy.core.errors import ErrorCode

Acknowledge = Callable[[ErrorCode], None]


class Acknowledgements:
    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Acknowledge]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, end_offset: int, then: Acknowledge) -> None:
        waiting = self._waiting
        at = len(waiting)
        while at and waiting[at - 1][0] > end_offset:
            at -= 1
        waiting.insert(at, (end_offset, then))

    def take_up_to(self, offset: int) -> list[Acknowledge]:
        """Whose records are all below `offset`."""
        waiting = self._waiting
        ready = []
        while waiting and waiting[0][0] <= offset:
            ready.append(waiting.popleft()[1])
        return ready

    def take_all(self) -> list[Acknowledge]:
        taken, self._waiting = self._waiting, deque()
        return [then for _, then in taken]

    def forget(self, then: Acknowledge) -> None:
        self._waiting = deque(one for one in self._waiting if one[1] is not then)
