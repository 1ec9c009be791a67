"""Every trouble that a plan can name, alone: told by what came of it, not by what was asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import pytest

from kafkapy.core.time import later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.dynamic_world import DynamicWorld
from kafkapy.sim.cluster.host import DRIFT_PPM, SKEW_MS, Host
from kafkapy.sim.cluster.nemesis import Nemesis
from kafkapy.sim.cluster.troubles.every import TROUBLES
from kafkapy.sim.cluster.world import COMBINED, ClusterWorld
from kafkapy.sim.promises.cluster import judge_replicas
from kafkapy.sim.world.rng import SimRng
from tests.sim.cluster.kit import Kit

WITHIN_MS: Final = 120_000
PACE_MS: Final = 1_000
WRITES_EVERY_MS: Final = 200
_MILLION: Final = 1_000_000


class Stage(Kit):
    """Four nodes, so that a replica can go elsewhere, and a log that says who votes."""

    def __init__(self, trouble: str) -> None:
        super().__init__(1, (COMBINED,) * 4)
        for number in range(5):
            self.produce_until_acknowledged(b"%d" % number)
        self.wait(lambda: self.world.is_in_sync)
        self.hosts: list[Host] = list(self.world.hosts.values())
        self.leader_before = self.leader().name
        self.controller_before = self.world.wait_for_controller().name
        self.replicas_before = set(self.state().replicas)
        self.configs_before = self.configs()
        self.voters_before = self.voters()
        self.clocks_before = [(self.world.clock.now(), host.clock.now()) for host in self.hosts]
        self.lines: list[str] = []
        self.world.trace.on_line = lambda who, told: self.lines.append(f"{who} {told}")
        dice = SimRng(trouble)
        self.nemesis = Nemesis(self.world, dice, [TROUBLES[trouble]], PACE_MS, flushes=True)
        self.is_over = False
        self._keep_writing()
        self.nemesis.begin()

    def world_of(
        self, seed: int, roles: Sequence[str], settings: Mapping[str, str]
    ) -> ClusterWorld:
        return DynamicWorld(seed, 3, roles, {**settings, "log.flush.interval.messages": "1"})

    def _keep_writing(self) -> None:
        """Whatever comes of it: disks fail while they are written to."""
        leader = self.leader_or_none()
        if self.is_over:
            return
        if leader is not None:
            body = self.to_produce(b"meanwhile")
            self.client.send(leader.node_id, ApiKey.PRODUCE, body, lambda _: None)
        clock = self.world.clock
        clock.call_at(later(clock.now(), WRITES_EVERY_MS), self._keep_writing)

    def configs(self) -> dict[tuple[int, str], dict[str, str]]:
        return dict(self.world.image_of_controller().all_configs)

    def voters(self) -> list[int]:
        return cast(DynamicWorld, self.world).voters(self.world.wait_for_controller())

    def is_cut(self, one: Host, other: Host) -> bool:
        return self.world.network.is_cut(one.name, other.name)

    def said(self, *parts: str) -> bool:
        """In a line of the trace."""
        return any(all(part in line for part in parts) for line in self.lines)

    def deaths(self, how: str) -> list[str]:
        return [host.name for host in self.hosts if f"{host.name} {how}" in self.lines]

    def paths(self) -> list[tuple[Host, Host]]:
        return [(one, other) for one in self.hosts for other in self.hosts if one is not other]


def somebody(holds: Callable[[Host], bool]) -> Callable[[Stage], bool]:
    return lambda stage: any(holds(host) for host in stage.hosts)


def some_path(holds: Callable[[Stage, Host, Host], bool]) -> Callable[[Stage], bool]:
    return lambda stage: any(holds(stage, *path) for path in stage.paths())


def is_isolated(stage: Stage, host: Host) -> bool:
    others = [one for one in stage.hosts if one is not host]
    return all(stage.is_cut(host, one) and stage.is_cut(one, host) for one in others)


def is_split(stage: Stage) -> bool:
    """Whoever is not cut from the first one is cut from all that are."""
    first, *others = stage.hosts
    there = [one for one in others if stage.is_cut(first, one)]
    here = [one for one in stage.hosts if one not in there]
    return bool(there) and all(
        stage.is_cut(*path) == ((path[0] in here) != (path[1] in here)) for path in stage.paths()
    )


def are_cut_though_others_see_them(stage: Stage, one: Host, other: Host) -> bool:
    cut = {path for path in stage.paths() if stage.is_cut(*path)}
    return cut == {(one, other), (other, one)}


def a_clock_is_fast(stage: Stage) -> bool:
    for host, (true, shown) in zip(stage.hosts, stage.clocks_before, strict=True):
        passed = stage.world.clock.now() - true
        if abs(host.clock.now() - shown - passed) > passed * DRIFT_PPM // _MILLION + 2:
            return True
    return False


def leads_elsewhere_and_nobody_died(stage: Stage) -> bool:
    return stage.leader().name != stage.leader_before and not stage.deaths("kill")


CAME_OF: Final[Mapping[str, Callable[[Stage], bool]]] = {
    "kill": lambda stage: bool(stage.deaths("kill")),
    "kill-leader": lambda stage: stage.leader_before in stage.deaths("kill"),
    "kill-leaders": lambda stage: sum(not host.is_alive for host in stage.hosts) > 1,
    "kill-controller": lambda stage: stage.controller_before in stage.deaths("kill"),
    "crash": lambda stage: bool(stage.deaths("crash")),
    "crash-all": lambda stage: not any(host.is_alive for host in stage.hosts),
    "die-at-a-change": lambda stage: bool(stage.deaths("died")),
    "crash-loop": somebody(lambda host: host.boots > 3),
    "restart": lambda stage: any(
        host.boots == 2 and host.is_serving for host in stage.hosts if stage.deaths("stop")
    ),
    "pause": lambda stage: bool(stage.deaths("pause")) and bool(stage.deaths("resume")),
    "set-clock": somebody(lambda host: abs(host.clock.wall() - host.clock.now()) > 2 * SKEW_MS),
    "drift": a_clock_is_fast,
    "isolate": lambda stage: any(is_isolated(stage, host) for host in stage.hosts),
    "isolate-controller": lambda stage: any(
        is_isolated(stage, host) for host in stage.hosts if host.name == stage.controller_before
    ),
    "split": is_split,
    "cut-one-way": some_path(
        lambda stage, one, other: stage.is_cut(one, other) and not stage.is_cut(other, one)
    ),
    "cut-pair": some_path(are_cut_though_others_see_them),
    "break": lambda stage: stage.said("break n"),
    "half-open": lambda stage: stage.said("half open n"),
    "slow-link": lambda stage: stage.said("nemesis slows n"),
    "slow-network": lambda stage: stage.said("nemesis slows the network"),
    "slow-disk": somebody(lambda host: host.disk_latency_ms > 0),
    "fail-disk": somebody(lambda host: host.has_lost_a_directory or host.boots > 1),
    "lose-directory": somebody(lambda host: host.has_lost_a_directory),
    "empty-disk": lambda stage: stage.said("has new disks") and stage.world.is_in_sync,
    # Its recovery has found it, and cut it off with what came after.
    "flip-bit": lambda stage: stage.said("flips") and stage.said("log recovered"),
    "reassign": lambda stage: set(stage.state().replicas) != stage.replicas_before,
    "move-leader": leads_elsewhere_and_nobody_died,
    "change-configs": lambda stage: stage.configs() != stage.configs_before,
    "change-voters": lambda stage: stage.voters() != stage.voters_before,
}


def test_all_of_them_are_here() -> None:
    assert set(CAME_OF) == set(TROUBLES)


@pytest.mark.interpreted
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_trouble_comes_and_goes(trouble: str) -> None:
    """Then all is healed, everybody serves, and nothing was lost."""
    stage = Stage(trouble)
    assert not CAME_OF[trouble](stage), "before it began"
    stage.wait(lambda: CAME_OF[trouble](stage), WITHIN_MS)
    stage.nemesis.heal()
    stage.is_over = True
    stage.wait(lambda: all(host.is_serving for host in stage.hosts) and stage.world.is_in_sync)
    stage.produce_until_acknowledged(b"after")
    walls = [host.clock.wall() for host in stage.hosts]
    assert max(walls) - min(walls) < 3 * SKEW_MS
    judge_replicas(stage.world, WITHIN_MS)
    for value in stage.acknowledged:
        assert value in stage.contents(stage.leader())
