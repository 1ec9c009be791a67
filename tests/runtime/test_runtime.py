"""The rule in runtime.py's docstring, line by line, on a log whose commits are made by hand.

What a shard makes of it (batches, a coordinator's errors, replay of a partition) is in
tests/coordinator/test_shard.py, the controller's in tests/kraft/controller/test_controller.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.jobs import SLICE_US, Steps
from kafkapy.core.step import Loaded, Step
from kafkapy.core.time import Instant
from kafkapy.runtime.record_log import Committed
from kafkapy.runtime.runtime import TIMER_RETRY_MS, Runtime, RuntimeSettings, State
from tests.coordinator.fakes import EchoMachine, FakeClock

LOADING, CLOSED, LATE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
)


class HandLog:
    """Commits when it is told to; `while_appending` runs before `append` returns."""

    def __init__(self, *records: str) -> None:
        self.records: list[Any] = list(records)
        self.waiting: list[tuple[int, Committed]] = []
        self.committed = 0
        self.refusal: Refused | None = None
        self.while_appending: Callable[[], None] = lambda: None

    @property
    def end_offset(self) -> int:
        return len(self.records)

    def replay(self, apply: Callable[[Any], None]) -> Steps:
        for record in self.records:
            if record == "unreadable":
                raise Corrupt(record)
            apply(record)
            yield SLICE_US

    def append(self, records: Sequence[Any]) -> int:
        if self.refusal is not None:
            raise self.refusal
        self.records += records
        end_offset = self.end_offset
        self.while_appending()
        return end_offset

    def when_committed(self, end_offset: int, then: Committed) -> None:
        if end_offset <= self.committed:
            then(None)
        else:
            self.waiting.append((end_offset, then))

    def commit(self, upto: int | None = None) -> None:
        self.committed = self.end_offset if upto is None else upto
        while self.waiting and self.waiting[0][0] <= self.committed:
            self.waiting.pop(0)[1](None)

    def lose(self, error: ErrorCode) -> None:
        waiting, self.waiting = self.waiting, []
        for _, then in waiting:
            then(error)


class World:
    def __init__(self, *records: str, commit_timeout_ms: int | None = None) -> None:
        self.clock = FakeClock()
        self.log = HandLog(*records)
        self.machine = EchoMachine()
        self.told: list[Any] = []
        self.runtime: Runtime[Any, Any] = Runtime(
            self.machine,
            self.log,
            self.clock,
            RuntimeSettings(LOADING, CLOSED, LATE, commit_timeout_ms),
            on_loaded=lambda: self.told.append("loaded"),
            on_committed=lambda records: self.told.append(list(records)),
            on_closed=lambda error, why: self.told.append((error, why)),
        )

    def ask(self, event: Any) -> list[Any]:
        answers: list[Any] = []
        self.runtime.submit(event, lambda a: answers.append(a.code if _refused(a) else a))
        return answers


def _refused(answer: Any) -> bool:
    return isinstance(answer, Refused)


@pytest.fixture
def world() -> World:
    made = World()
    made.runtime.load()
    return made


def write(*records: str, reply: str = "written", **more: Any) -> Step[Any, Any]:
    return Step(records=records, reply=reply, **more)


# Applied when appended, answered when committed


def test_the_next_decision_sees_what_nobody_is_told_yet(world: World) -> None:
    first = world.ask(write("a"))
    assert world.machine.applied == ["a"]
    assert first == []
    world.log.commit()
    assert first == ["written"]


@pytest.mark.parametrize("event", [Step(reply="read"), Refused(CLOSED)])
def test_who_only_reads_waits_for_all_that_may_have_been_read(world: World, event: Any) -> None:
    first, second = world.ask(write("a")), world.ask(write("b"))
    reader = world.ask(event)
    world.log.commit(1)
    assert first
    assert second == reader == []
    world.log.commit()
    assert second
    assert reader


def test_a_step_that_only_answers_a_parked_asker_waits_too(world: World) -> None:
    parked = world.ask(Step(park="seat"))
    world.ask(write("a"))
    world.ask(Step(reply="x", answers=(("seat", "your turn"),)))
    assert parked == []
    world.log.commit()
    assert parked == ["your turn"]


def test_whoever_acts_on_committed_facts_hears_after_the_askers(world: World) -> None:
    world.runtime.submit(write("a"), world.told.append)
    world.log.commit()
    assert world.told == ["loaded", "written", ["a"]]


# Refused


def test_a_refused_append_changes_nothing_and_is_told_after_what_was_read(world: World) -> None:
    before = world.ask(write("a"))
    world.log.refusal = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    refused = world.ask(write("b", notes=("n",), timers={"t": Instant(9)}))
    assert (before, refused) == ([], [])
    assert world.machine.applied == ["a"]
    assert len(world.runtime.timers) == 0
    world.log.commit()
    assert refused == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.runtime.state is State.ACTIVE


def test_what_a_machine_must_do_once_loaded_is_tried_until_it_is_written() -> None:
    world = World()
    world.machine.loaded = Step(records=("begun",), timers={"t": Instant(0)})
    world.log.refusal = Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    world.runtime.load()
    world.clock.advance(TIMER_RETRY_MS)
    assert world.machine.applied == []
    world.log.refusal = None
    world.clock.advance(TIMER_RETRY_MS)
    assert world.machine.applied == ["begun"]
    assert [key for key, _ in world.machine.fired] == ["t"]


# Lost


def test_a_lost_append_drops_everything_that_waits(world: World) -> None:
    parked = world.ask(Step(park="seat", timers={"t": Instant(world.clock.now() + 5)}))
    writer, reader = world.ask(write("a")), world.ask(Step(reply="read"))
    world.log.lose(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert parked == [CLOSED]
    assert writer == reader == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert world.told == ["loaded", (ErrorCode.COORDINATOR_NOT_AVAILABLE, None)]
    assert world.ask(Step(reply="x")) == [CLOSED]
    assert world.clock.pending == 0, "no timer is left"


def test_a_commit_after_the_leadership_was_lost_says_nothing_more(world: World) -> None:
    writer = world.ask(write("a"))
    world.runtime.close()
    world.log.commit()
    assert writer == [CLOSED]
    assert world.told == ["loaded", (CLOSED, None)]


def test_a_leadership_that_goes_with_the_append_itself(world: World) -> None:
    earlier = world.ask(write("a"))
    world.log.while_appending = world.runtime.close
    assert world.ask(write("b")) == [CLOSED]
    assert earlier == [CLOSED]
    assert world.machine.applied == ["a"], "the machine is dropped: nothing is applied any more"


# One thing at a time


def test_what_an_append_itself_commits_is_told_when_its_records_are_applied(world: World) -> None:
    """With `flush.messages`, the second append may be what commits the first."""
    seen: list[list[Any]] = []
    world.runtime.submit(write("a"), lambda _: seen.append(list(world.machine.applied)))
    world.log.while_appending = world.log.commit
    second = world.ask(write("b"))
    world.clock.run_soon()
    assert seen == [["a", "b"]]
    assert second == ["written"]


def test_an_event_that_an_append_itself_brings_about_waits_its_turn(world: World) -> None:
    inner: list[Any] = []
    markers: list[Any] = []

    def ask_meanwhile() -> None:
        world.log.while_appending = lambda: None
        world.runtime.submit(write("later"), inner.append)
        world.runtime.write("marker", markers.append)

    world.log.while_appending = ask_meanwhile
    world.ask(write("first"))
    assert world.log.records == world.machine.applied == ["first"]
    world.clock.run_soon()
    assert world.log.records == world.machine.applied == ["first", "later", "marker"]
    assert inner == markers == []
    world.log.commit()
    assert (inner, markers) == (["written"], [None])


# Loaded while requests arrive


def test_requests_that_come_while_it_loads_are_told_so_until_all_is_committed() -> None:
    world = World("a", "b")
    world.runtime.load()
    assert world.ask(Step(reply="x")) == [LOADING]
    world.clock.run_soon()
    assert world.machine.applied == ["a", "b"]
    assert world.ask(Step(reply="x")) == [LOADING], "replayed, and not committed yet"
    world.log.commit()
    assert world.told == ["loaded"]
    assert world.ask(Step(reply="x")) == ["x"]


def test_bytes_that_cannot_be_read_are_why_it_closes() -> None:
    world = World("unreadable")
    world.runtime.load()
    assert world.told == [(CLOSED, "unreadable")]


def test_loaded_is_the_first_event() -> None:
    seen: list[Any] = []

    class Noting(EchoMachine):
        def decide(self, event: Any, now: Instant, wall: Instant) -> Step[Any, Any]:
            seen.append(event)
            return super().decide(event, now, wall)

    world = World()
    world.machine = world.runtime.machine = Noting()
    world.runtime.load()
    world.ask(Step(reply="x"))
    assert seen[0] == Loaded()


# Patience


def test_without_a_timeout_a_commit_is_waited_for_as_long_as_it_takes(world: World) -> None:
    writer = world.ask(write("a"))
    world.clock.advance(3_600_000)
    assert writer == []
    assert world.clock.pending == 0


def test_with_one_each_asker_waits_that_long_for_its_own_commit() -> None:
    world = World(commit_timeout_ms=100)
    world.runtime.load()
    first = world.ask(write("a"))
    world.clock.advance(60)
    second = world.ask(write("b"))
    world.clock.advance(40)
    assert (first, second) == ([LATE], [])
    world.clock.advance(60)
    assert second == [LATE]
    world.log.commit()
    assert world.told == ["loaded", ["a"], ["b"]]


def test_who_hears_that_it_is_too_late_may_ask_again_at_once() -> None:
    world = World(commit_timeout_ms=100)
    world.runtime.load()
    heard: list[Any] = []

    def ask_again(reply: Any) -> None:
        heard.append(reply)
        if len(heard) < 3:
            world.runtime.submit(write("again"), ask_again)

    world.runtime.submit(write("a"), ask_again)
    world.ask(write("b"))
    world.clock.advance(100)
    assert [one.code for one in heard] == [LATE]
    world.clock.advance(100)
    assert len(heard) == 2
    world.log.commit()
    assert world.told == ["loaded", ["a"], ["b"], ["again"], ["again"]]
