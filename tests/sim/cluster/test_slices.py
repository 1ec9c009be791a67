"""Worlds in which long work is done a little at a time, and takes its time."""

from kafkapy.core import jobs
from kafkapy.core.jobs import Job, Steps
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.sim.cluster.slices import small_slices
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.runs.cluster import plan_of

STEP_US = 20


def test_time_passes_between_slices_and_others_come_in_between() -> None:
    world = ClusterWorld(1)
    clock = world.hosts[1].clock
    seen: list[tuple[str, int]] = []

    def steps() -> Steps:
        for _ in range(20):
            seen.append(("step", world.clock.now()))
            yield STEP_US

    with small_slices(world):
        Job(clock, steps()).start()
        clock.call_soon(lambda: seen.append(("other", world.clock.now())))
        world.run(1_000)
    assert len({when for what, when in seen if what == "step"}) > 3
    assert 0 < seen.index(next(one for one in seen if one[0] == "other")) < 20


def test_what_is_to_be_called_soon_keeps_its_order() -> None:
    world = ClusterWorld(2)
    clock = world.hosts[1].clock
    heard: list[int] = []

    def ask(number: int) -> None:
        clock.call_soon(lambda: heard.append(number))

    with small_slices(world):
        for number in range(50):
            ask(number)
        world.run(1_000)
    assert heard == list(range(50))


def test_the_next_world_is_as_usual() -> None:
    usual = jobs.SLICE_US, sweeps.SLICE
    with small_slices(ClusterWorld(3)):
        assert usual[0] > jobs.SLICE_US
        assert usual[1] > sweeps.SLICE
    assert usual == (jobs.SLICE_US, sweeps.SLICE)


def test_some_seeds_are_such_worlds_and_some_are_not() -> None:
    assert {plan_of(seed, 5).is_sliced for seed in range(1, 20)} == {True, False}
