"""What is produced to one partition and cannot be appended at once, on its way there: its topic
has a hook, or it has to be looked into and unpacks to so much that it would hold the loop.

    submit ──> hooked in slices ───> examined in slices ──> then(what is to be appended)
                (hooks/batch.py)      (log/examining.py)
      submit ──> waits for its turn: batches stay in their order

A batch that is done quickly is done when `submit` returns. What waits is in memory; all partitions
of a node together hold so much, beyond that producers are told to come again. So many are examined
at a time, because each needs its codec's window. A gate without a hook is there for as long as
something waits.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.jobs import Job, Steps, Turns
from kafkapy.core.seams import Clock
from kafkapy.hooks.api import Place
from kafkapy.hooks.batch import hooked
from kafkapy.hooks.guarded import Guarded
from kafkapy.log.config import LogConfig
from kafkapy.log.examining import to_be_examined

#: Of batches that wait for their hooks.
MOST_WAITING_BYTES: Final = 64 * 1024 * 1024
#: A window of zstd may be 128 MiB. What one batch may unpack to was held before, whole.
MOST_EXAMINED: Final = 4

Then = Callable[["bytes | Refused"], None]


class Room:
    """What all of them hold together."""

    def __init__(self, most_bytes: int = MOST_WAITING_BYTES) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0
        self.turns = Turns(MOST_EXAMINED)


class _Waiting(NamedTuple):
    batch: bytes
    is_wanted: Callable[[], bool]
    then: Then


class ProduceGate:
    """Implements `partitions.partition.HasHook`."""

    def __init__(
        self,
        clock: Clock,
        hook: Guarded | None,
        place: Place,
        room: Room,
        config: Callable[[], LogConfig],
        on_over: Callable[["ProduceGate"], None],
    ) -> None:
        """`on_over`: there is no hook any more, and nothing waits. `config`: the log's."""
        #: Another one may take its place. None: the topic has none any more.
        self.hook: Guarded | None = hook
        self._on_over = on_over
        self._clock = clock
        self._place = place
        self._room = room
        self._config = config
        self._waiting: deque[_Waiting] = deque()
        self._job: Job | None = None

    def submit(
        self, records: memoryview | bytes, is_wanted: Callable[[], bool], then: Then
    ) -> None:
        """`then`, now or later, with what is to be appended instead (as EXAMINED), or why nothing
        is. Not called if nobody wants it any more when its turn comes."""
        room = self._room
        if room.used_bytes and room.used_bytes + len(records) > room.most_bytes:
            # What every producer sends again: nothing was written.
            then(Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "too much waits to be looked into"))
            if self.is_idle and self.hook is None:
                self._on_over(self)
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
            if one.is_wanted():
                one.then((yield from self._made_of(one.batch)))
        if self.hook is None:
            self._on_over(self)

    def _made_of(self, batch: bytes) -> Generator[int | None, None, bytes | Refused]:
        try:
            if self.hook is not None:
                batch = yield from hooked(batch, self.hook, self._place)
            examining = to_be_examined(batch, self._config(), self._clock.wall())
            if examining is None:
                return batch
            assert self._job is not None
            yield from self._room.turns.enter(self._job)
            try:
                return (yield from examining.work())
            finally:
                self._room.turns.leave()
        except Refused as refused:
            return refused
