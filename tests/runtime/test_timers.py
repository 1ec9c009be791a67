from collections.abc import Hashable

from kafkapy.core.time import Instant
from kafkapy.runtime.timers import Timers
from tests.coordinator.fakes import FakeClock


def make() -> tuple[FakeClock, Timers, list[Hashable]]:
    clock = FakeClock(0)
    fired: list[Hashable] = []
    return clock, Timers(clock, fired.append), fired


def test_timers_fire_in_the_order_of_their_time() -> None:
    clock, timers, fired = make()
    timers.arm("late", Instant(30))
    timers.arm("early", Instant(10))
    timers.arm(("mid", 1), Instant(20))
    clock.advance(25)
    assert fired == ["early", ("mid", 1)]
    clock.advance(5)
    assert fired == ["early", ("mid", 1), "late"]
    assert len(timers) == 0


def test_a_deadline_moved_later_fires_once_and_later() -> None:
    clock, timers, fired = make()
    for beat in range(5):
        timers.arm("session", Instant(clock.now() + 10))
        clock.advance(beat)
    clock.advance(10 - 4 - 1)
    assert fired == []
    clock.advance(1)
    assert fired == ["session"]
    clock.advance(100)
    assert fired == ["session"]


def test_a_deadline_moved_earlier_fires_earlier_and_once() -> None:
    clock, timers, fired = make()
    timers.arm("a", Instant(100))
    timers.arm("a", Instant(5))
    clock.advance(5)
    assert fired == ["a"]
    clock.advance(200)
    assert fired == ["a"]


def test_heartbeats_do_not_grow_the_heap() -> None:
    clock, timers, _ = make()
    for _ in range(1000):
        timers.arm("session", Instant(clock.now() + 10))
        clock.advance(1)
    assert len(timers._heap) == 1
    assert clock.pending == 1


def test_a_cleared_timer_does_not_fire_and_can_be_armed_again() -> None:
    clock, timers, fired = make()
    timers.arm("a", Instant(10))
    timers.clear("a")
    timers.clear("never armed")
    clock.advance(9)
    timers.arm("a", Instant(15))
    clock.advance(5)
    assert fired == []
    clock.advance(1)
    assert fired == ["a"]


def test_one_that_fires_may_clear_another_that_is_due() -> None:
    clock = FakeClock(0)
    fired: list[Hashable] = []

    def fire(key: Hashable) -> None:
        fired.append(key)
        timers.clear("b")
        if key == "a":
            timers.arm("c", Instant(20))

    timers = Timers(clock, fire)
    for key in "abc":
        timers.arm(key, Instant(10))
    clock.advance(10)
    assert fired == ["a"]
    clock.advance(10)
    assert fired == ["a", "c"]


def test_clear_all_leaves_nothing_behind() -> None:
    clock, timers, fired = make()
    timers.arm("a", Instant(10))
    timers.clear_all()
    assert clock.pending == 0
    timers.arm("a", Instant(12))
    clock.advance(20)
    assert fired == ["a"]
