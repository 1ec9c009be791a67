"""Long work in slices: turns, waiting, pausing, stopping, failing; the same every time."""

from collections.abc import Callable

import pytest

from kafkapy.core.jobs import SLICE_US, WAITING, Job, Pause, Steps, Turns
from kafkapy.sim.world.clock import SimClock

HALF = SLICE_US // 2


def counting(done: list[int], costs: list[int]) -> Steps:
    for cost in costs:
        done.append(cost)
        yield cost
    done.append(-1)


def test_others_get_their_turn_between_slices() -> None:
    clock, done = SimClock(), list[int]()
    job = Job(clock, counting(done, [HALF] * 5))
    job.start()
    assert (len(done), job.is_over) == (2, False)
    clock.settle()
    assert (done, job.is_over) == ([HALF] * 5 + [-1], True)
    assert clock.calls == 2


def test_little_work_is_done_at_once() -> None:
    done: list[int] = []
    job = Job(SimClock(), counting(done, [1, 2]))
    job.start()
    assert (done, job.is_over) == ([1, 2, -1], True)


def test_work_may_also_begin_with_the_next_turn() -> None:
    clock, done = SimClock(), list[int]()
    Job(clock, counting(done, [1])).start_soon()
    assert not done
    clock.settle()
    assert done == [1, -1]


def test_jobs_take_turns_and_a_large_one_keeps_no_small_one_waiting() -> None:
    clock, turns = SimClock(), list[str]()

    def steps(name: str, slices: int) -> Steps:
        for _ in range(slices):
            turns.append(name)
            yield SLICE_US

    for name, slices in (("a", 100), ("b", 2), ("c", 3)):
        Job(clock, steps(name, slices)).start_soon()
    clock.settle()
    assert "".join(turns[:10]) == "abcabcacaa"
    assert len(turns) == 105


def test_steps_and_slices_are_the_same_whatever_the_machine_does() -> None:
    def play() -> list[tuple[int, int]]:
        clock, trace = SimClock(), list[tuple[int, int]]()

        def steps(seed: int) -> Steps:
            for at in range(50):
                trace.append((seed, clock.calls))
                yield Pause(3) if at % 20 == seed else (at * 37 + seed) % 400

        for seed in range(4):
            Job(clock, steps(seed)).start()
        clock.advance(1000)
        return trace

    assert play() == play()
    assert len(play()) == 200


def test_a_job_waits_until_it_is_resumed() -> None:
    clock, done = SimClock(), list[str]()

    def steps() -> Steps:
        done.append("asked")
        yield WAITING
        done.append("answered")

    job = Job(clock, steps())
    job.start()
    clock.advance(1000)
    assert done == ["asked"]
    job.resume()
    assert done == ["asked"], "not within the call of whoever resumes"
    clock.settle()
    assert (done, job.is_over) == (["asked", "answered"], True)


def test_an_answer_that_comes_before_the_waiting_is_not_lost() -> None:
    done: list[str] = []

    def steps() -> Steps:
        job.resume()
        yield WAITING
        done.append("answered")

    job = Job(SimClock(), steps())
    job.start()
    assert done == ["answered"]


def test_a_job_pauses_for_as_long_as_it_says() -> None:
    clock, seen = SimClock(), list[int]()
    began = clock.now()

    def steps() -> Steps:
        for _ in range(3):
            seen.append(clock.now() - began)
            yield Pause(40)

    Job(clock, steps()).start()
    clock.advance(1000)
    assert seen == [0, 40, 80]


@pytest.mark.parametrize("step", [SLICE_US, WAITING, Pause(5)])
def test_what_is_stopped_cleans_up_and_does_not_go_on(step: int | Pause | None) -> None:
    clock, done = SimClock(), list[str]()

    def steps() -> Steps:
        try:
            done.append("step")
            yield step
            done.append("further")
        finally:
            done.append("cleaned up")

    job = Job(clock, steps())
    job.start()
    job.stop()
    assert (done, job.is_over) == (["step", "cleaned up"], True)
    job.resume()
    job.stop()
    clock.advance(10)
    assert done == ["step", "cleaned up"]


def test_a_step_may_stop_its_own_job_and_is_its_last() -> None:
    clock, done = SimClock(), list[str]()

    def steps() -> Steps:
        try:
            job.stop()
            done.append("step")
            yield 1
            done.append("further")
        finally:
            done.append("cleaned up")

    job = Job(clock, steps())
    job.start()
    clock.settle()
    assert (done, job.is_over) == (["step", "cleaned up"], True)


def test_a_failure_that_the_steps_do_not_handle_is_the_caller_s() -> None:
    clock = SimClock()

    def steps() -> Steps:
        yield SLICE_US
        raise ValueError("ours")

    job = Job(clock, steps())
    job.start()
    with pytest.raises(ValueError, match="ours"):
        clock.settle()
    assert job.is_over


def test_work_that_calls_back_while_it_runs_is_not_run_twice() -> None:
    """What a step causes may ask for the job's state: it is under way, not over."""
    states: list[bool] = []

    def steps(ask: Callable[[], None]) -> Steps:
        ask()
        yield 1
        ask()

    job = Job(SimClock(), steps(lambda: states.append(job.is_over)))
    job.start()
    assert states == [False, False]
    assert job.is_over


def test_so_many_jobs_at_a_time_have_a_turn_and_the_others_follow_as_they_came() -> None:
    clock, turns = SimClock(), Turns(2)
    said: list[str] = []
    jobs: dict[str, Job] = {}

    def work(name: str) -> Steps:
        yield from turns.enter(jobs[name])
        said.append(f"{name} in")
        yield SLICE_US
        said.append(f"{name} out")
        turns.leave()

    for name in "abcd":
        jobs[name] = Job(clock, work(name))
        jobs[name].start()
    assert said == ["a in", "b in"]
    clock.settle()
    assert said == [
        *("a in", "b in", "a out", "b out"),
        *("c in", "d in", "c out", "d out"),
    ]
    jobs["a"] = Job(clock, work("a"))  # the turns were given back
    jobs["a"].start()
    assert said[-1] == "a in"
