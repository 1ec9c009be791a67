"""The command that runs clusters by their seeds; here they are fakes."""

import pytest

from kafkapy.sim import command
from kafkapy.sim.__main__ import main
from kafkapy.sim.cluster.plan import Plan
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.runs.cluster import ClusterFailed, ClusterReport, plan_of


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that were run; whoever pauses and has an administrator breaks."""
    plans: list[Plan] = []

    def run(plan: Plan, watch: object = None) -> ClusterReport:
        plans.append(plan)
        if "pause" in plan.troubles and "admin" in plan.clients:
            world = ClusterWorld(plan.seed)
            raise ClusterFailed(plan, BrokenPromise(f"topic {plan.seconds} is gone"), world)
        return ClusterReport(plan.seed, "abc", 1, 5, 10, 20, 2, 3)

    monkeypatch.setattr(command, "run_plan", run)
    return plans


def _seed(breaks: bool) -> int:
    def does(seed: int) -> bool:
        plan = plan_of(seed, 5)
        return "pause" in plan.troubles and "admin" in plan.clients

    return next(seed for seed in range(1, 100) if does(seed) is breaks)


def test_what_many_did_is_summed_up(ran: list[Plan], capsys: pytest.CaptureFixture[str]) -> None:
    seed = _seed(breaks=False)
    assert main(["--nodes", "5", "--seeds", f"{seed}-{seed}"]) == 0
    assert ran == [plan_of(seed, 5)]
    assert "1 runs kept every promise, 0 did not: 1 troubles, 5 boots" in capsys.readouterr().out


def test_what_fails_is_made_smaller_before_it_is_told(
    ran: list[Plan], capsys: pytest.CaptureFixture[str]
) -> None:
    seed = _seed(breaks=True)
    assert main(["--nodes", "5", "--seeds", f"{seed}-{seed}"]) == 1
    told = capsys.readouterr().out
    assert f"seed {seed}: BrokenPromise: topic 60 is gone" in told
    assert "--seconds 4 --troubles pause --clients admin" in told
    replay = told.partition("replay: python -m kafkapy.sim ")[2].splitlines()[0]
    assert main(replay.split()) == 1
    assert (ran[-1].seconds, ran[-1].troubles, ran[-1].clients) == (4, ("pause",), ("admin",))


def test_many_are_run_with_what_is_named_alone(ran: list[Plan]) -> None:
    named = "--troubles pause,kill --clients none"
    assert main(["--nodes", "5", "--seeds", "1-20", *named.split()]) == 0
    assert {name for plan in ran for name in plan.troubles} == {"pause", "kill"}
    assert not any(plan.clients for plan in ran)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("--troubles kil", "there is no kil; there are kill, "),
        ("--clients producers,x", "there is no x; there are producers, "),
        ("--nodes 2", "3 nodes or more"),
    ],
)
def test_what_nobody_knows_is_refused(
    ran: list[Plan], capsys: pytest.CaptureFixture[str], named: str, said: str
) -> None:
    with pytest.raises(SystemExit):
        main(["--nodes", "5", *named.split()])
    assert said in capsys.readouterr().err
    assert not ran
