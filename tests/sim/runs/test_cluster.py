"""Seeded runs of clusters: nodes, clients, trouble, and everything that was promised.

Thousands of them: `make sim-many N=2000`.
"""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from kafkapy.sim.runs.cluster import ClusterFailed, ClusterRun, plan_of, run_plan

SEEDS = range(1, 8)
SECONDS = 12


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cluster_keeps_its_promises(seed: int) -> None:
    run_plan(plan_of(seed, nodes=3 + seed % 3, seconds=SECONDS))


def test_a_seed_is_the_same_run_every_time() -> None:
    plan = plan_of(3, nodes=3, seconds=5)
    assert run_plan(plan) == run_plan(plan)
    assert run_plan(plan).digest != run_plan(replace(plan, seed=4)).digest


def test_a_seed_is_the_same_run_in_another_process() -> None:
    """Python hashes texts differently in every process: nothing may depend on that."""
    told = set()
    for hash_seed in ("1", "2"):
        command = "-m kafkapy.sim --seed 8 --nodes 5 --seconds 5"
        done = subprocess.run(
            [sys.executable, *command.split()],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        told.add(done.stdout)
    assert len(told) == 1
    assert "trace" in told.pop().splitlines()[-1]


def test_a_failure_names_its_plan_and_how_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(run: ClusterRun) -> None:
        run.world.trace.note("something", "went", "wrong")
        raise AssertionError("a promise")

    monkeypatch.setattr(ClusterRun, "go", breaks)
    with pytest.raises(ClusterFailed, match="a promise") as failed:
        run_plan(plan_of(77, nodes=5))
    told = str(failed.value)
    assert "something went wrong" in told
    assert told.endswith("replay: make sim SEED=77 NODES=5")
