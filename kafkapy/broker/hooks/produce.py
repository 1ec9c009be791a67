"""What is produced to one partition whose topic has a hook, on its way there.

    submit ──> hooked in slices (a job; kafkapy/hooks/batch.py) ──> then(what is to be appended)
      submit ──> waits for its turn: batches stay in their order

A batch whose hook is quick is done when `submit` returns. What waits is in memory; all partitions
of a node together hold so much, beyond that producers are told to come again.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock
from kafkapy.hooks.api import Place
from kafkapy.hooks.batch import hooked
from kafkapy.hooks.guarded import Guarded

#: Of batches that wait for their hooks.
MOST_WAITING_BYTES: Final = 64 * 1024 * 1024

Then = Callable[["bytes | Refused"], None]


class Room:
    """What all of them hold together."""

    def __init__(self, most_bytes: int = MOST_WAITING_BYTES) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0


class _Waiting(NamedTuple):
    batch: bytes
    is_wanted: Callable[[], bool]
    then: Then


class ProduceGate:
    """Implements `partitions.partition.HasHook`."""

    def __init__(
        self,
        clock: Clock,
        hook: Guarded,
        place: Place,
        room: Room,
        on_over: Callable[["ProduceGate"], None],
    ) -> None:
        """`on_over`: there is no hook any more, and nothing waits."""
        #: Another one may take its place. None: the topic has none any more.
        self.hook: Guarded | None = hook
        self._on_over = on_over
        self._clock = clock
        self._place = place
        self._room = room
        self._waiting: deque[_Waiting] = deque()
        self._job: Job | None = None

    def submit(
        self, records: memoryview | bytes, is_wanted: Callable[[], bool], then: Then
    ) -> None:
        """`then`, now or later, with what is to be appended instead, or why nothing is. Not
        called if nobody wants it any more when its turn comes."""
        room = self._room
        if room.used_bytes and room.used_bytes + len(records) > room.most_bytes:
            # What every producer sends again: nothing was written.
            then(Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "too much waits for hooks"))
            return
        room.used_bytes += len(records)
        self._waiting.append(_Waiting(bytes(records), is_wanted, then))
        if self.is_idle:
            self._job = Job(self._clock, self._work())
            self._job.start()

    @property
    def is_idle(self) -> bool:
        return self._job is None or self._job.is_over

    def _work(self) -> Steps:
        while self._waiting:
            one = self._waiting.popleft()
            self._room.used_bytes -= len(one.batch)
            if not one.is_wanted():
                continue
            made: bytes | Refused = one.batch
            try:
                if self.hook is not None:
                    made = yield from hooked(one.batch, self.hook, self._place)
            except Refused as refused:
                made = refused
            one.then(made)
        if self.hook is None:
            self._on_over(self)
