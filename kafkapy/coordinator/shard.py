"""One machine on one partition of an internal topic: the only place where steps take effect.

    submit(event) --> decide --> append records (one batch) --> apply --> timers
                                        |                                   |
                                        +--- committed ---> replies <-------+

    LOADING --replayed, and all of it committed--> ACTIVE
    any --leadership lost, append lost--> CLOSED

- Records are applied when appended, and nothing leaves before they are committed: a step
  without records waits for what it may have read.
- A refused append changed nothing: the asker gets the error, a timer tries again later.
- An append that was lost afterwards closes the shard. Whoever leads next replays.
- `Refused` out of `decide` is the asker's answer; anything else is a bug and propagates.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from kafkapy.coordinator import batches
from kafkapy.coordinator.append_errors import append_error
from kafkapy.coordinator.loader import Progress, replay
from kafkapy.coordinator.shard_log import RecordCodec, ShardLog
from kafkapy.coordinator.timers import Timers
from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.step import Loaded, Machine, Step, TimerFired, TransactionEnded
from kafkapy.core.time import Instant, later
from kafkapy.protocol.batch import Codec

Rec = TypeVar("Rec")
Reply = TypeVar("Reply")

Then = Callable[[Reply | Refused], None]

# Kafka's own pause before a timeout whose write failed is tried again.
TIMER_RETRY_MS: Final = 500


class ShardState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class ShardSettings:
    """commit_timeout_ms  how long a reply waits for its records (offsets.commit.timeout.ms)
    base_sequence      what stands in the headers of batches: nobody reads it, Kafka's group
                       coordinator writes 0 and its transaction coordinator -1"""

    commit_timeout_ms: int = 5000
    compression: Codec = Codec.NONE
    base_sequence: int = -1


@dataclass(slots=True, eq=False)
class _Uncommitted(Generic[Rec, Reply]):
    end_offset: int
    deadline: Instant
    records: Sequence[Rec]
    replies: list[tuple[Then[Reply], Reply | Refused]] = field(default_factory=list)
    markers: list[Callable[[Refused | None], None]] = field(default_factory=list)


class Shard(Generic[Rec, Reply]):
    def __init__(
        self,
        topic_partition: TopicPartition,
        leader_epoch: int,
        log: ShardLog,
        machine: Machine[Any, Rec, Reply],
        codec: RecordCodec[Rec],
        clock: Clock,
        settings: ShardSettings,
        *,
        on_loaded: Callable[[], None] | None = None,
        on_committed: Callable[[Sequence[Rec]], None] | None = None,
        on_closed: Callable[[ErrorCode, str | None], None] | None = None,
    ) -> None:
        self.topic_partition = topic_partition
        self.leader_epoch = leader_epoch
        self.machine = machine
        self.state = ShardState.LOADING
        self.progress = Progress()
        self._log = log
        self._codec = codec
        self._clock = clock
        self._settings = settings
        self._on_loaded = on_loaded
        self._on_committed = on_committed
        self._on_closed = on_closed
        self._timers = Timers(clock, self._timer_fired)
        self._parked: dict[Hashable, Then[Reply]] = {}
        self._uncommitted: deque[_Uncommitted[Rec, Reply]] = deque()
        self._impatience: Timer | None = None

    # Loading

    def load(self) -> None:
        """Replay the partition in slices of the loop; ACTIVE when the end is reached and
        everything up to there is committed."""
        self._load_slice(replay(self._log, self._codec, self.machine, self.progress))

    def _load_slice(self, rest: Iterator[None]) -> None:
        if self.state is not ShardState.LOADING:
            return
        try:
            is_more = next(rest, self) is None
        except Corrupt as error:
            self._close(ErrorCode.NOT_COORDINATOR, str(error))
            return
        if is_more:
            self._clock.call_soon(lambda: self._load_slice(rest))
            return
        # A new leader may hold what the old one never committed. It will be committed here,
        # but if we fell before, nobody must have been told of it.
        self._log.when_committed(self._log.end_offset, self._replay_committed)

    def _replay_committed(self, error: ErrorCode | None) -> None:
        if self.state is not ShardState.LOADING:
            return
        if error is not None:
            self._close(append_error(Refused(error)).code, None)
            return
        self.state = ShardState.ACTIVE
        self.submit(Loaded())
        if self._on_loaded is not None:
            self._on_loaded()

    # Events

    def submit(self, event: Any, then: Then[Reply] | None = None) -> None:
        """Decide on `event` now; `then` gets the reply, or the Refused, once it may leave."""
        if self.state is not ShardState.ACTIVE:
            if then is not None:
                then(Refused(self._inactive_error()))
            return
        try:
            step = self.machine.decide(event, self._clock.now())
            uncommitted = self._append(step.records) if step.records else None
        except Refused as refused:
            # From `decide`, or from the log: either way nothing of the step took effect.
            if isinstance(event, TimerFired):
                self._timers.arm(event.key, later(self._clock.now(), TIMER_RETRY_MS))
            elif then is not None:
                self._let_out([(then, refused)])
            return
        self._take_effect(step, uncommitted, then)

    def complete_transaction(
        self, ended: TransactionEnded, then: Callable[[Refused | None], None]
    ) -> None:
        """Append the marker that a transaction coordinator decided on (WriteTxnMarkers)."""
        if self.state is not ShardState.ACTIVE:
            then(Refused(self._inactive_error()))
            return
        marker: Any = ended  # a record of every machine, whatever its own records are
        try:
            uncommitted = self._append((marker,))
        except Refused as refused:
            then(refused)
            return
        uncommitted.markers.append(then)
        self._await_commit(uncommitted)

    def close(self) -> None:
        """This node does not lead the partition any more."""
        self._close(ErrorCode.NOT_COORDINATOR, None)

    @property
    def armed_timers(self) -> Timers:
        return self._timers

    # One step

    def _append(self, records: Sequence[Rec]) -> _Uncommitted[Rec, Reply]:
        now = self._clock.now()
        settings = self._settings
        batch = batches.build(
            records, self._codec, now, settings.compression, settings.base_sequence
        )
        first: Any = records[0]
        version = first.transaction_version if isinstance(first, TransactionEnded) else 0
        try:
            end_offset = self._log.append(batch, transaction_version=version)
        except Refused as refused:
            raise append_error(refused) from None
        for record in records:
            self.machine.apply(record)
        uncommitted: _Uncommitted[Rec, Reply] = _Uncommitted(
            end_offset, later(now, settings.commit_timeout_ms), records
        )
        self._uncommitted.append(uncommitted)
        return uncommitted

    def _take_effect(
        self,
        step: Step[Rec, Reply],
        uncommitted: "_Uncommitted[Rec, Reply] | None",
        then: Then[Reply] | None,
    ) -> None:
        for note in step.notes:
            self.machine.apply(note)
        for key, when in step.timers.items():
            if when is None:
                self._timers.clear(key)
            else:
                self._timers.arm(key, when)
        replies: list[tuple[Then[Reply], Reply | Refused]] = []
        for key, answer in step.answers:
            waiting = self._parked.pop(key, None)
            if waiting is not None:
                replies.append((waiting, answer))
        if then is not None:
            if step.park is not None:
                assert step.park not in self._parked, ("somebody waits there", step.park)
                self._parked[step.park] = then
            else:
                assert step.reply is not None, ("an asker without an answer", step)
                replies.append((then, step.reply))
        if uncommitted is None:
            self._let_out(replies)
        else:
            uncommitted.replies.extend(replies)
            self._await_commit(uncommitted)

    # Committed, or not

    def _await_commit(self, uncommitted: _Uncommitted[Rec, Reply]) -> None:
        self._log.when_committed(
            uncommitted.end_offset, lambda error: self._committed(uncommitted.end_offset, error)
        )
        self._watch_the_oldest()

    def _let_out(self, replies: list[tuple[Then[Reply], Reply | Refused]]) -> None:
        """Answers that depend on nothing new still wait for what they may have read."""
        if self._uncommitted:
            self._uncommitted[-1].replies.extend(replies)
            return
        for then, reply in replies:
            then(reply)

    def _committed(self, end_offset: int, error: ErrorCode | None) -> None:
        if self.state is not ShardState.ACTIVE:
            return
        if error is not None:
            self._close(append_error(Refused(error)).code, None)
            return
        while self._uncommitted and self._uncommitted[0].end_offset <= end_offset:
            done = self._uncommitted.popleft()
            for then, reply in done.replies:
                then(reply)
            for told in done.markers:
                told(None)
            if self._on_committed is not None:
                self._on_committed(done.records)

    def _watch_the_oldest(self) -> None:
        if self._impatience is None and self._uncommitted:
            self._impatience = self._clock.call_at(self._uncommitted[0].deadline, self._give_up)

    def _give_up(self) -> None:
        """Tell those who waited too long; what they asked for may still come to be."""
        self._impatience = None
        now = self._clock.now()
        for waiting in self._uncommitted:
            if waiting.deadline > now:
                self._impatience = self._clock.call_at(waiting.deadline, self._give_up)
                return
            replies, waiting.replies = waiting.replies, []
            markers, waiting.markers = waiting.markers, []
            too_late = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            for then, _ in replies:
                then(too_late)
            for told in markers:
                told(too_late)

    def _timer_fired(self, key: Hashable) -> None:
        self.submit(TimerFired(key))

    def _inactive_error(self) -> ErrorCode:
        if self.state is ShardState.LOADING:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NOT_COORDINATOR

    def _close(self, error: ErrorCode, why: str | None) -> None:
        if self.state is ShardState.CLOSED:
            return
        self.state = ShardState.CLOSED
        self._timers.clear_all()
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None
        uncommitted, self._uncommitted = self._uncommitted, deque()
        parked, self._parked = self._parked, {}
        for lost in uncommitted:
            for then, _ in lost.replies:
                then(Refused(error))
            for told in lost.markers:
                told(Refused(error))
        for then in parked.values():
            then(Refused(ErrorCode.NOT_COORDINATOR))
        if self._on_closed is not None:
            self._on_closed(error, why)
