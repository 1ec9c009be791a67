"""Virtual time: what is due runs in order, and nothing else does."""

import pytest

from kafkapy.core.time import later
from kafkapy.sim.world.clock import SimClock


def test_timers_run_in_the_order_of_their_time_and_then_of_asking() -> None:
    clock = SimClock()
    ran: list[str] = []
    now = clock.now()
    clock.call_at(later(now, 5), lambda: ran.append("b"))
    clock.call_at(later(now, 3), lambda: ran.append("a"))
    clock.call_at(later(now, 5), lambda: ran.append("c"))
    clock.advance(5)
    assert ran == ["a", "b", "c"]
    assert clock.now() == now + 5


def test_a_timer_sees_its_own_time() -> None:
    clock = SimClock()
    seen: list[int] = []
    due = later(clock.now(), 7)
    clock.call_at(due, lambda: seen.append(clock.now()))
    clock.advance(100)
    assert seen == [due]


def test_a_cancelled_timer_does_not_run() -> None:
    clock = SimClock()
    ran: list[str] = []
    clock.call_at(later(clock.now(), 1), lambda: ran.append("a")).cancel()
    clock.advance(10)
    assert ran == []


def test_what_was_called_soon_runs_before_time_moves() -> None:
    clock = SimClock()
    now = clock.now()
    ran: list[tuple[str, int]] = []
    clock.call_at(later(now, 1), lambda: ran.append(("timer", clock.now() - now)))
    clock.call_soon(lambda: ran.append(("soon", clock.now() - now)))
    clock.advance(1)
    assert ran == [("soon", 0), ("timer", 1)]


def test_a_timer_that_is_due_runs_before_the_next_slice() -> None:
    clock = SimClock()
    ran: list[str] = []

    def slice_and_timer() -> None:
        ran.append("first slice")
        clock.call_soon(lambda: ran.append("second slice"))
        clock.call_at(clock.now(), lambda: ran.append("timer"))

    clock.call_soon(slice_and_timer)
    clock.settle()
    assert ran == ["first slice", "timer", "second slice"]


def test_running_until_a_condition_stops_there() -> None:
    clock = SimClock()
    now = clock.now()
    ran: list[int] = []
    for delay_ms in (1, 2, 3):
        clock.call_at(later(now, delay_ms), lambda: ran.append(clock.now() - now))
    assert clock.run_until(lambda: len(ran) == 2, 100)
    assert clock.now() == now + 2


def test_running_until_a_condition_gives_up_when_the_time_is_over() -> None:
    clock = SimClock()
    now = clock.now()
    assert not clock.run_until(lambda: False, 100)
    assert clock.now() == now + 100


def test_who_calls_himself_for_ever_is_told() -> None:
    clock = SimClock()

    def again() -> None:
        clock.call_soon(again)

    again()
    with pytest.raises(AssertionError, match="time stands still"):
        clock.advance(1)


def test_the_dead_are_not_called() -> None:
    clock = SimClock()
    ran: list[str] = []
    clock.call_soon(lambda: ran.append("soon"))
    clock.call_at(later(clock.now(), 1), lambda: ran.append("timer"))
    clock.forget_all()
    clock.advance(10)
    assert ran == []
