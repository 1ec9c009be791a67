"""A coordinator's promises to groups, under kill -9 and power cuts: one seeded run.

    two groups    members of the classic protocol, members of KIP-848
    members       join, own, commit; leave, vanish, oversleep their session
    the topic     grows
    the world     dies at any change of the disk, and starts again

All the while `group_facts.py` judges: no partition is two members' in one epoch, and no
acknowledged commit is taken back. Then it gets calm: each group shares its topic out, every
partition to one member, and an onlooker finds what was committed.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import Actor, Sleep, Stage
from kafkapy.sim.clients.group_members import (
    SESSION_MS,
    MemberPlan,
    classic_member,
    consumer_member,
    fetch,
)
from kafkapy.sim.promises.groups import GroupFacts
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.power import PowerCut
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

TOPIC: Final = "read"
FIRST_PARTITIONS: Final = 4
MORE_PARTITIONS: Final = 7
MEMBERS: Final = 4
SETTINGS: Final = {
    "offsets.topic.num.partitions": "2",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "300",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "200",
    "log.cleaner.enable": "true",
}
FLUSHING: Final = {"log.flush.interval.messages": "1"}
MAX_CHANGES_IN_A_LIFE: Final = 600
BREAKS_PERCENT: Final = 2
CALM_MS: Final = 90_000


@dataclass(slots=True)
class GroupsRun:
    """`go` raises BrokenPromise, with the seed in it, if anything is wrong."""

    seed: int
    deaths: int = 4
    loses_power: bool = False
    classic: GroupFacts = field(default_factory=lambda: GroupFacts("classic"))
    consumer: GroupFacts = field(default_factory=lambda: GroupFacts("consumer"))
    _is_calm: bool = False
    _is_over: bool = False

    def go(self) -> World:
        try:
            return self._go()
        except BrokenPromise as broken:
            raise BrokenPromise(f"seed {self.seed}: {broken}") from broken

    def _go(self) -> World:
        world = World(self.seed, {**SETTINGS, **(FLUSHING if self.loses_power else {})})
        dice = world.rng.fork("groups")
        world.start()
        self._prepare(world)
        breaks = dice.fork("breaks")
        stage = Stage(world, lambda: not self._is_calm and breaks.chance(BREAKS_PERCENT))
        for facts, member in ((self.classic, classic_member), (self.consumer, consumer_member)):
            plan = MemberPlan(
                facts,
                TOPIC,
                dice.fork(facts.group),
                lambda: self._is_calm,
                lambda: self._is_over,
            )
            for number in range(MEMBERS):
                stage.add(member(plan, f"{facts.group}-{number}"))
        for death in range(self.deaths):
            self._live_and_die(world, stage, dice)
            if death == self.deaths // 2:
                self._grow(world)
        self._is_calm = True
        self._judge(world, stage)
        return world

    def _prepare(self, world: World) -> None:
        topic = {"name": TOPIC, "num_partitions": FIRST_PARTITIONS, "replication_factor": 1}
        world.ask(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 30_000}, version=5)
        body = {"key_type": 0, "coordinator_keys": ["classic"]}
        for _ in range(100):
            answer = world.ask(ApiKey.FIND_COORDINATOR, body, version=4)
            if answer.coordinators[0].error_code == 0:
                return
            world.clock.advance(100)
        raise BrokenPromise("no coordinator")

    def _grow(self, world: World) -> None:
        """Classic members are told by nobody: simulated ones learn it when they rejoin."""
        topic = {"name": TOPIC, "count": MORE_PARTITIONS, "assignments": None}
        body = {"topics": [topic], "timeout": 30_000, "validate_only": False}
        world.ask(ApiKey.CREATE_PARTITIONS, body, version=2)

    def _live_and_die(self, world: World, stage: Stage, dice: SimRng) -> None:
        world.power.cut_after(dice.between(1, MAX_CHANGES_IN_A_LIFE))
        with suppress(PowerCut):
            stage.run(lambda: False, dice.between(1_000, 30_000))
        if self.loses_power:
            world.crash()
        else:
            world.kill()
        world.start()
        stage.node_died()

    def _judge(self, world: World, stage: Stage) -> None:
        # The classic leader dealt out what it knew; the other group has grown by itself.
        sizes = (FIRST_PARTITIONS, MORE_PARTITIONS)
        is_settled = stage.run(
            lambda: (
                any(self.classic.is_shared(size) for size in sizes)
                and self.consumer.is_shared(MORE_PARTITIONS)
            ),
            CALM_MS,
        )
        if not is_settled:
            raise BrokenPromise(f"not settled: {self.classic.held}, {self.consumer.held}")
        self._is_over = True
        onlookers = Stage(world)
        for facts in (self.classic, self.consumer):
            onlookers.add(_look(facts))
        if not onlookers.run(lambda: onlookers.is_over, CALM_MS):
            raise BrokenPromise("nobody says what is committed")
        if not stage.run(lambda: stage.is_over, CALM_MS):
            raise BrokenPromise("somebody is stuck")


def _look(facts: GroupFacts) -> Actor:
    for number in range(FIRST_PARTITIONS):
        while (yield from fetch(facts, TopicPartition(TOPIC, number))) is None:
            yield Sleep(100)


def main(arguments: list[str]) -> int:
    """Seeds from FIRST on, COUNT of them; says which failed and goes on."""
    first, count = int(arguments[0]), int(arguments[1])
    loses_power = "--power" in arguments
    failed = commits = 0
    for seed in range(first, first + count):
        run = GroupsRun(seed, loses_power=loses_power)
        try:
            run.go()
        except AssertionError as broken:
            failed += 1
            print(f"seed {seed}: {broken}")
        commits += run.classic.commits + run.consumer.commits
    print(f"{count} seeds, {commits} commits, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
