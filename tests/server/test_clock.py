"""The two readings of the loop's clock, when somebody sets the machine's."""

import time

import pytest
import trio

from kafkapy.core.time import later
from kafkapy.server.clock import LoopClock
from kafkapy.testing.node.clock import AdvancingClock

HOUR_MS = 3_600_000


class Machine:
    """Its wall clock can be set; what it counts, it goes on counting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead_ms = 0
        real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real() + self.ahead_ms * 1_000_000)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_both_begin_with_what_the_wall_clock_says(machine: Machine) -> None:
    machine.ahead_ms = -HOUR_MS
    clock = LoopClock()
    assert abs(clock.now() - clock.wall()) < HOUR_MS / 60


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
def test_the_wall_is_followed_either_way_and_now_is_not_touched(
    machine: Machine, by_ms: int
) -> None:
    clock = LoopClock()
    now, wall = clock.now(), clock.wall()
    machine.ahead_ms = by_ms
    assert abs(clock.wall() - wall - by_ms) < HOUR_MS / 60
    assert 0 <= clock.now() - now < HOUR_MS / 60


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
def test_a_step_of_the_wall_neither_fires_nor_starves_a_timer(machine: Machine, by_ms: int) -> None:
    async def main() -> None:
        clock = LoopClock()
        fired, never = trio.Event(), trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clock.run)
            clock.call_at(later(clock.now(), 1), fired.set)
            clock.call_at(later(clock.now(), HOUR_MS // 2), never.set)
            machine.ahead_ms = by_ms
            await fired.wait()
            assert not never.is_set()
            nursery.cancel_scope.cancel()

    trio.run(main)


def test_a_test_moves_both() -> None:
    clock = AdvancingClock()
    now, wall = clock.now(), clock.wall()
    clock.advance(HOUR_MS)
    assert clock.now() - now >= HOUR_MS
    assert clock.wall() - wall >= HOUR_MS
