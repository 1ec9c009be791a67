"""Seeded runs of a node: lives, deaths, and everything it promised.

Thousands of them: `python -m kafkapy.sim --seeds 1-2000`.
"""

import os
import subprocess
import sys

import pytest

from kafkapy.sim.runs.single_node import Failed, Run, run_seed
from kafkapy.sim.world.world import World

SEEDS = range(1, 17)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_node_keeps_its_promises_through_every_death(seed: int) -> None:
    run_seed(seed)


def test_a_seed_is_the_same_run_every_time() -> None:
    first, second = run_seed(3, lives=3), run_seed(3, lives=3)
    assert first == second
    assert first.digest != run_seed(4, lives=3).digest


def test_a_seed_is_the_same_run_in_another_process() -> None:
    """Python hashes texts differently in every process: nothing may depend on that."""
    told = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "kafkapy.sim", "--seed", "8", "--lives", "3"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout.splitlines()[0])
    assert len(told) == 1
    assert told.pop().startswith("seed 8:")


def test_a_failure_names_its_seed_and_how_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(run: Run, count: int) -> None:
        run.world.trace.note("something", "went", "wrong")
        raise AssertionError("a promise")

    monkeypatch.setattr(Run, "lives", breaks)
    with pytest.raises(Failed, match="a promise") as failed:
        run_seed(77)
    told = str(failed.value)
    assert "something went wrong" in told
    assert told.endswith("replay: make sim SEED=77")


def test_a_world_starts_stops_and_starts_again() -> None:
    world = World(1)
    for _ in range(2):
        world.start()
        assert world.node is not None
        assert world.is_serving
        world.stop()
        assert world.node is None
    world.crash()
    world.start()
    assert not world.journal.said("log recovered")


def test_directories_that_a_node_made_for_itself_survive_a_power_cut() -> None:
    world = World(1, has_directories=False)
    world.start()
    assert world.node is not None
    cluster_id = world.node.cluster_id
    world.crash()
    world.start()
    assert world.node is not None
    assert world.node.cluster_id == cluster_id
