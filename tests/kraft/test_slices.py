from collections.abc import Iterator

from kafkapy.kraft.slices import RECORDS_PER_SLICE, Slices
from kafkapy.sim.world.clock import SimClock


def counting(done: list[int], weights: list[int]) -> Iterator[int]:
    for weight in weights:
        done.append(weight)
        yield weight


def test_others_get_their_turn_between_slices() -> None:
    clock = SimClock()
    done: list[int] = []
    ends: list[int] = []
    half = RECORDS_PER_SLICE // 2
    Slices(clock, counting(done, [half] * 5), lambda: ends.append(len(done)))
    assert (len(done), ends) == (2, [])
    clock.settle()
    assert (len(done), ends) == (5, [5])
    assert clock.calls == 2


def test_little_work_is_done_at_once() -> None:
    done: list[int] = []
    ends: list[bool] = []
    Slices(SimClock(), counting(done, [1, 2]), lambda: ends.append(True))
    assert (done, ends) == ([1, 2], [True])


def test_what_is_stopped_does_not_end() -> None:
    clock = SimClock()
    done: list[int] = []
    ends: list[bool] = []
    slices = Slices(clock, counting(done, [RECORDS_PER_SLICE] * 3), lambda: ends.append(True))
    slices.stop()
    clock.settle()
    assert (len(done), ends) == (1, [])
