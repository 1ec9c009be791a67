"""One machine over one log: the only place where steps take effect and answers leave.

    submit(event) --> decide --> append records (one batch) --> apply --> timers
                                        |                                   |
                                        +--- committed ---> answers <-------+

    LOADING --replayed, and all of it committed--> ACTIVE
    any --leadership lost, append lost--> CLOSED

The rule, for the controller and for every shard of groups and of transactions:

- Records are applied when they are appended: the next decision sees them. No answer leaves
  before they are committed, nor does one that came without records and may have read them.
- A refused append changed nothing: the asker gets the error, a timer tries again later.
- An append that is lost afterwards, as with the leadership, closes the runtime. Whoever
  waits or is parked is told so and the machine is dropped; nothing is undone. Whoever leads
  next replays, and serves once all that was replayed is committed.
- One thing at a time: commits and events that an append itself brings about wait until its
  records are applied.
- `Refused` out of `decide` is the asker's answer; anything else is a bug and propagates.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.step import Loaded, Machine, Step, TimerFired
from kafkapy.core.time import NEVER, Instant, later
from kafkapy.runtime.record_log import RecordLog
from kafkapy.runtime.timers import Timers

Rec = TypeVar("Rec")
Reply = TypeVar("Reply")

Then = Callable[[Reply | Refused], None]

# Kafka's own pause before a timeout whose write failed is tried again.
TIMER_RETRY_MS: Final = 500


class State(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """What askers are told when there is no answer, and how long they wait for a commit
    (`commit_timeout_ms`; None: as long as it takes)."""

    loading: ErrorCode
    closed: ErrorCode
    too_late: ErrorCode = ErrorCode.REQUEST_TIMED_OUT
    commit_timeout_ms: int | None = None


@dataclass(slots=True, eq=False)
class _Uncommitted(Generic[Rec]):
    """A batch that is appended and applied, and the answers that wait for its commit."""

    end_offset: int
    deadline: Instant
    records: Sequence[Rec]
    answers: list[tuple[Then[Any], Any]] = field(default_factory=list)


class Runtime(Generic[Rec, Reply]):
    """`load`, then `submit`; `close` when the leadership is lost.

    `on_loaded()` when it serves, `on_committed(records)` after their answers have left,
    `on_closed(error, why)` once; `why` says what is wrong with bytes that cannot be read.
    """

    def __init__(
        self,
        machine: Machine[Any, Rec, Reply],
        log: RecordLog[Rec],
        clock: Clock,
        settings: RuntimeSettings,
        *,
        on_loaded: Callable[[], None] | None = None,
        on_committed: Callable[[Sequence[Rec]], None] | None = None,
        on_closed: Callable[[ErrorCode, str | None], None] | None = None,
    ) -> None:
        self.machine = machine
        self.state = State.LOADING
        self.timers = Timers(clock, self._timer_fired)
        self._log = log
        self._clock = clock
        self._settings = settings
        self._on_loaded = on_loaded
        self._on_committed = on_committed
        self._on_closed = on_closed
        self._parked: dict[Hashable, Then[Reply]] = {}
        self._uncommitted: deque[_Uncommitted[Rec]] = deque()
        self._committed_to = -1
        self._is_appending = False
        self._impatience: Timer | None = None
        self._loading: Job | None = None

    # Loading

    def load(self) -> None:
        """Replay the log in slices of the loop; ACTIVE when its end is reached and
        everything up to there is committed."""
        self._loading = Job(self._clock, self._load())
        self._loading.start()

    def _load(self) -> Steps:
        try:
            yield from self._log.replay(self.machine.apply)
        except Corrupt as error:
            self.close(why=str(error))
            return
        except Refused as refused:
            self.close(refused.code)  # it cannot be read now; whoever leads then tries again
            return
        # A new leader may hold what the old one never committed. It will be committed here,
        # but if we fell before, nobody must have been told of it.
        self._log.when_committed(self._log.end_offset, self._replay_committed)

    def _replay_committed(self, error: ErrorCode | None) -> None:
        if self.state is not State.LOADING:
            return
        if error is not None:
            self.close(error)
            return
        self.state = State.ACTIVE
        self.submit(Loaded())
        if self._on_loaded is not None:
            self._on_loaded()

    # Events

    def submit(self, event: Any, then: Then[Reply] | None = None) -> None:
        """Decide on `event` now; `then` gets the reply, or the Refused, once it may leave."""
        if self.state is not State.ACTIVE:
            if then is not None:
                then(self.inactive())
            return
        if self._is_appending:
            self._clock.call_soon(lambda: self.submit(event, then))
            return
        try:
            step = self.machine.decide(event, self._clock.now(), self._clock.wall())
            uncommitted = self._append(step.records) if step.records else None
        except Refused as refused:
            # From `decide`, or from the log: either way nothing of the step took effect.
            if then is not None:
                self._answer([(then, refused)], None)
            elif self.state is State.ACTIVE:
                self._try_again(event)
            return
        self._take_effect(step, uncommitted, then)

    def write(self, record: Any, then: Callable[[Refused | None], None]) -> None:
        """Append and apply what was decided elsewhere; `then(None)` once it is committed."""
        if self.state is not State.ACTIVE:
            then(self.inactive())
            return
        if self._is_appending:
            self._clock.call_soon(lambda: self.write(record, then))
            return
        try:
            uncommitted = self._append((record,))
        except Refused as refused:
            then(refused)
            return
        self._answer([(then, None)], uncommitted)

    def close(self, error: ErrorCode | None = None, *, why: str | None = None) -> None:
        """This node does not lead any more; or `error`, what became of an append."""
        if self.state is State.CLOSED:
            return
        self.state = State.CLOSED
        self.timers.clear_all()
        if self._loading is not None:
            self._loading.stop()
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None
        closed = self._settings.closed
        lost, self._uncommitted = self._uncommitted, deque()
        parked, self._parked = self._parked, {}
        for batch in lost:
            for then, _ in batch.answers:
                then(Refused(error or closed))
        for then in parked.values():
            then(Refused(closed))
        if self._on_closed is not None:
            self._on_closed(error or closed, why)

    def inactive(self) -> Refused:
        """What whoever asks while this is not ACTIVE is told."""
        is_loading = self.state is State.LOADING
        return Refused(self._settings.loading if is_loading else self._settings.closed)

    def _timer_fired(self, key: Hashable) -> None:
        self.submit(key if isinstance(key, Loaded) else TimerFired(key))

    def _try_again(self, event: Any) -> None:
        """Nobody hears that the machine's own event was refused, and it must not be lost."""
        when = later(self._clock.now(), TIMER_RETRY_MS)
        if isinstance(event, TimerFired):
            self.timers.arm(event.key, when)
        elif isinstance(event, Loaded):
            self.timers.arm(event, when)

    # One step

    def _append(self, records: Sequence[Rec]) -> _Uncommitted[Rec]:
        self._is_appending = True
        try:
            end_offset = self._log.append(records)
        finally:
            self._is_appending = False
        if self.state is not State.ACTIVE:
            raise self.inactive()  # the leadership went with this very append
        for record in records:
            self.machine.apply(record)
        timeout = self._settings.commit_timeout_ms
        deadline = NEVER if timeout is None else later(self._clock.now(), timeout)
        uncommitted = _Uncommitted(end_offset, deadline, records)
        self._uncommitted.append(uncommitted)
        return uncommitted

    def _take_effect(
        self,
        step: Step[Rec, Reply],
        uncommitted: _Uncommitted[Rec] | None,
        then: Then[Reply] | None,
    ) -> None:
        for note in step.notes:
            self.machine.apply(note)
        for key, when in step.timers.items():
            if when is None:
                self.timers.clear(key)
            else:
                self.timers.arm(key, when)
        answers: list[tuple[Then[Reply], Any]] = []
        for key, answer in step.answers:
            waiting = self._parked.pop(key, None)
            if waiting is not None:
                answers.append((waiting, answer))
        if then is not None:
            if step.park is not None:
                assert step.park not in self._parked, ("somebody waits there", step.park)
                self._parked[step.park] = then
            else:
                assert step.reply is not None, ("an asker without an answer", step)
                answers.append((then, step.reply))
        self._answer(answers, uncommitted)

    # Committed, or not

    def _answer(
        self, answers: list[tuple[Then[Any], Any]], uncommitted: _Uncommitted[Rec] | None
    ) -> None:
        """Once `uncommitted` is committed. Answers that depend on nothing new wait for what
        they may have read: everything that is appended so far."""
        if uncommitted is not None:
            uncommitted.answers += answers
            self._await_commit(uncommitted)
        elif self._uncommitted:
            self._uncommitted[-1].answers += answers
        else:
            for then, answer in answers:
                then(answer)

    def _await_commit(self, uncommitted: _Uncommitted[Rec]) -> None:
        end_offset = uncommitted.end_offset
        self._log.when_committed(end_offset, lambda error: self._committed(end_offset, error))
        self._watch_the_oldest()

    def _committed(self, end_offset: int, error: ErrorCode | None) -> None:
        if self.state is not State.ACTIVE:
            return
        if error is not None:
            self.close(error)
            return
        self._committed_to = max(self._committed_to, end_offset)
        if self._is_appending:
            self._clock.call_soon(self._let_out)
        else:
            self._let_out()

    def _let_out(self) -> None:
        while self._uncommitted and self._uncommitted[0].end_offset <= self._committed_to:
            done = self._uncommitted.popleft()
            for then, answer in done.answers:
                then(answer)
            if self._on_committed is not None:
                self._on_committed(done.records)

    def _watch_the_oldest(self) -> None:
        if self._impatience is None and self._uncommitted:
            deadline = self._uncommitted[0].deadline
            if deadline != NEVER:
                self._impatience = self._clock.call_at(deadline, self._give_up)

    def _give_up(self) -> None:
        """Tell those who waited too long; what they asked for may still come to be."""
        self._impatience = None
        now = self._clock.now()
        for waiting in tuple(self._uncommitted):  # who hears may ask for more at once
            if waiting.deadline > now:
                self._impatience = self._clock.call_at(waiting.deadline, self._give_up)
                return
            answers, waiting.answers = waiting.answers, []
            for then, _ in answers:
                then(Refused(self._settings.too_late))
