"""One seeded run of a cluster: nodes, clients and trouble, then peace, and a judgement.

    start --> all serve --> clients and the nemesis, a virtual minute --> healed
          --> all serve again, everybody gets done, groups settle --> judged

While it runs the quorum is watched (promises/quorum.py), answers are judged as they leave
(promises/answers.py), groups as they hear (promises/groups.py), and a line of a node's journal
that says "bug" ends the run. A run is a function of its plan (cluster/plan.py).
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from kafkapy.broker.node.node import Node
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.sim.cluster.clients.every import KINDS, READ, Clients
from kafkapy.sim.cluster.dynamic_world import DynamicWorld
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.nemesis import Nemesis
from kafkapy.sim.cluster.plan import SECONDS, Plan, draw_plan
from kafkapy.sim.cluster.slices import small_slices
from kafkapy.sim.cluster.troubles.every import TROUBLES
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.promises.cluster import (
    judge_history,
    judge_images,
    judge_replicas,
    look_at_metadata,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.quorum import QuorumPromises
from kafkapy.sim.world.journal import Line

# What a healthy cluster needs at most, in virtual time: to serve, all of it; to finish what clients
# are at; to answer questions.
SERVES_WITHIN_MS: Final = 60_000
DONE_WITHIN_MS: Final = 90_000
IN_SYNC_WITHIN_MS: Final = 60_000
CAUGHT_UP_WITHIN_MS: Final = 10_000
_LINES_SHOWN: Final = 60


class ClusterFailed(Exception):
    """The run of `plan` broke a promise, or broke down."""

    def __init__(self, plan: Plan, cause: BaseException, world: ClusterWorld) -> None:
        lines = list(world.trace.last)[-_LINES_SHOWN:]
        story = "\n".join(f"    {line}" for line in lines)
        super().__init__(
            f"seed {plan.seed}: {type(cause).__name__}: {cause}\n{story}\nplan: {plan}\n"
            f"replay: make sim SEED={plan.seed} NODES={len(plan.roles)}"
        )
        self.plan = plan
        self.cause = cause


@dataclass(frozen=True, slots=True)
class ClusterReport:
    seed: int
    digest: str
    troubles: int
    boots: int
    frames: int
    records: int
    changes: int
    epochs: int

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.troubles} troubles, {self.boots} lives, "
            f"{self.epochs} epochs of the quorum, {self.frames} frames, {self.records} records, "
            f"{self.changes} changes of the metadata, trace {self.digest}"
        )


def plan_of(seed: int, nodes: int, seconds: int = SECONDS) -> Plan:
    return draw_plan(seed, nodes, TROUBLES, KINDS, seconds)


def run_plan(plan: Plan, watch: Callable[[ClusterWorld], None] | None = None) -> ClusterReport:
    """Raises ClusterFailed. `watch` is given the world before anything happens."""
    run = ClusterRun(plan)
    if watch is not None:
        watch(run.world)
    try:
        run.go()
    except Exception as cause:
        raise ClusterFailed(plan, cause, run.world) from cause
    return run.report()


def _world_of(plan: Plan) -> ClusterWorld:
    if not plan.has_dynamic_voters:
        return ClusterWorld(plan.seed, plan.roles, plan.settings)
    voters = sum("controller" in one for one in plan.roles)
    return DynamicWorld(plan.seed, voters, plan.roles, plan.settings)


class ClusterRun:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.world = _world_of(plan)
        self.quorum = QuorumPromises()
        self.clients = Clients(self.world, plan.clients, plan.replication_factor)
        self.nemesis = Nemesis(
            self.world,
            self.world.rng.fork("nemesis"),
            [TROUBLES[name] for name in plan.troubles],
            plan.pace_ms,
            flushes=plan.flushes,
            copies=plan.replication_factor,
        )
        for host in self.world.hosts.values():
            host.on_line.append(self._said)
            host.on_start.append(partial(self._watch, host))

    def go(self) -> None:
        with small_slices(self.world) if self.plan.is_sliced else nullcontext():
            self._go()

    def _go(self) -> None:
        world = self.world
        world.start()
        self._until(self._all_serve, SERVES_WITHIN_MS, "not all nodes serve")
        self.clients.begin()
        self.nemesis.begin()
        world.run(self.plan.seconds * 1000)
        self.nemesis.heal()
        self._until(self._all_serve, SERVES_WITHIN_MS, "healed, and not all nodes serve")
        self.clients.is_calm = True
        self._until(self._groups_settled, DONE_WITHIN_MS, "healed, and groups do not settle")
        self.clients.is_over = True
        self._until(lambda: not self.clients.unfinished, DONE_WITHIN_MS, "somebody is stuck")
        if world.brokers:
            self._until(lambda: world.is_in_sync, IN_SYNC_WITHIN_MS, "replicas do not get in sync")
            self._judge()
        judge_images(world, CAUGHT_UP_WITHIN_MS)

    def report(self) -> ClusterReport:
        world = self.world
        return ClusterReport(
            self.plan.seed,
            world.trace.digest(),
            self.nemesis.count,
            sum(host.boots for host in world.hosts.values()),
            world.network.frames,
            sum(one.acknowledged for one in self.clients.producers),
            self.clients.operator.changes,
            len(self.quorum.leaders),
        )

    def _judge(self) -> None:
        clients = self.clients
        judge_images(self.world, CAUGHT_UP_WITHIN_MS)  # then every broker can tell what is there
        clients.until_done("onlooker", clients.read_everything(), DONE_WITHIN_MS)
        for host in self.world.brokers:
            looking = look_at_metadata(clients.operator, host.node_id)
            clients.until_done(f"look at {host.name}", looking, DONE_WITHIN_MS)
        judge_history(clients.history)
        clients.judge()
        judge_replicas(self.world, CAUGHT_UP_WITHIN_MS)

    # Conditions.

    def _until(self, condition: Callable[[], bool], within_ms: int, otherwise: str) -> None:
        if not self.world.clock.run_until(condition, within_ms):
            raise BrokenPromise(f"{otherwise} after {within_ms} ms: {self._state()}")

    def _all_serve(self) -> bool:
        if not all(host.is_serving for host in self.world.hosts.values()):
            return False
        brokers = self.world.image_of_controller().brokers
        return all(
            host.node_id in brokers and brokers[host.node_id].is_active
            for host in self.world.brokers
        )

    def _groups_settled(self) -> bool:
        topic = self.world.image_of_controller().topics_by_name.get(READ)
        count = 0 if topic is None else len(topic.partitions)
        return (
            all(facts.is_shared(count) for facts in self.clients.groups)
            and self.clients.has_streams_settled
        )

    def _state(self) -> str:
        hosts = ", ".join(f"{host.name} {host.state}" for host in self.world.hosts.values())
        held = {facts.group: facts.held for facts in self.clients.groups}
        told = f"{hosts}; unfinished: {self.clients.unfinished}; held: {held}"
        return f"{told}; {self.clients.streams}" if "streams" in self.plan.clients else told

    # While it runs.

    def _said(self, host: Host, line: Line) -> None:
        if line.event == "bug":
            raise BrokenPromise(f"{host.name}: {line}")
        if line.event == "leads the metadata quorum":
            epoch, offset = line.facts["epoch"], line.facts["offset"]
            assert isinstance(epoch, int)
            assert isinstance(offset, int)
            self.quorum.leads(host.node_id, epoch, offset)

    def _watch(self, host: Host, node: Node) -> None:
        def applied(image: MetadataImage, delta: Delta) -> None:
            self.quorum.applied(host.node_id, image, delta)

        def told() -> None:
            leader_id = node.quorum.leader_id
            if leader_id is not None:
                self.quorum.knows(node.quorum.leader_epoch, leader_id)

        node.quorum.subscribe(applied)
        node.quorum.when_led(told)
