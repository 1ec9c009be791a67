"""A cluster's promise of exactly once, under kill -9 and power cuts: one seeded run.

    writers (v1 and v2)      transactions over several partitions; commit, abort, or vanish
    transformers             inputs -> outputs and the inputs' offset, in one transaction
    readers                  read_committed, all the time
    the world                dies at any change of the disk, and starts again

Then it gets calm: what is left open times out, a fresh reader reads everything, and:

- the checkers find no anomaly in what anybody saw;
- no last stable offset is stuck below its high watermark;
- every input below the group's committed offset has exactly one output, and no other has.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.checkers import History, check
from kafkapy.sim.clients.actors import Actor, Stage
from kafkapy.sim.clients.committed_reader import CommittedReader
from kafkapy.sim.clients.exactly_once import (
    OUTPUT,
    TOPICS,
    TRANSACTION_TIMEOUT_MS,
    WRITTEN,
    ExactlyOnce,
    committed_offset,
    judge_outputs,
)
from kafkapy.sim.clients.transactional_producer import GROUP
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.power import PowerCut
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

SETTINGS: Final = {
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "log.cleaner.enable": "true",
}
FLUSHING: Final = {"log.flush.interval.messages": "1"}
# Dies at one of so many changes of the disk; a transaction makes about ten.
MAX_CHANGES_IN_A_LIFE: Final = 1_500
BREAKS_PERCENT: Final = 2  # answers that get lost although the node lives
CALM_MS: Final = 60_000


@dataclass(slots=True)
class ExactlyOnceRun:
    """`go` raises BrokenPromise, with the seed's world in it, if anything is wrong."""

    seed: int
    deaths: int = 4
    # The machine dies and not just the process: topics then flush before they acknowledge.
    loses_power: bool = False
    history: History = field(default_factory=History)
    _values: int = 0
    _is_calm: bool = False

    def go(self) -> World:
        world = World(self.seed, {**SETTINGS, **(FLUSHING if self.loses_power else {})})
        dice = world.rng.fork("exactly once")
        world.start()
        self._prepare(world)
        breaks = dice.fork("breaks")
        stage = Stage(world, lambda: breaks.chance(BREAKS_PERCENT))
        play = ExactlyOnce(
            world.clock,
            self.history,
            dice,
            lambda: self._is_calm,
            self._value,
        )
        for actor in play.actors():
            stage.add(actor)
        for _ in range(self.deaths):
            self._live_and_die(world, stage, dice)
        self._is_calm = True
        if not stage.run(lambda: stage.is_over, CALM_MS):
            raise BrokenPromise(f"seed {self.seed}: somebody is stuck, {CALM_MS} ms after")
        self._judge(world)
        return world

    def _live_and_die(self, world: World, stage: Stage, dice: SimRng) -> None:
        world.power.cut_after(dice.between(1, MAX_CHANGES_IN_A_LIFE))
        with suppress(PowerCut):
            stage.run(lambda: False, dice.between(200, 10_000))
        if self.loses_power:
            world.crash()
        else:
            world.kill()
        world.start()
        try:
            stage.node_died()
        except PowerCut:  # nobody cuts now, but whoever is told acts at once
            raise BrokenPromise(f"seed {self.seed}: died without having been killed") from None

    def _prepare(self, world: World) -> None:
        topics = [
            {"name": name, "num_partitions": count, "replication_factor": 1}
            for name, count in TOPICS.items()
        ]
        world.ask(ApiKey.CREATE_TOPICS, {"topics": topics, "timeout": 30_000}, version=5)
        for key_type, key in ((0, GROUP), (1, "any")):  # makes the internal topics
            self._until_found(world, key_type, key)

    def _until_found(self, world: World, key_type: int, key: str) -> None:
        for _ in range(100):
            body = {"key_type": key_type, "coordinator_keys": [key]}
            answer = world.ask(ApiKey.FIND_COORDINATOR, body, version=4)
            if answer.coordinators[0].error_code == 0:
                return
            world.clock.advance(100)
        raise BrokenPromise(f"seed {self.seed}: no coordinator for {key!r}")

    def _value(self) -> str:
        self._values += 1
        return f"v{self._values}"

    # Judgement

    def _judge(self, world: World) -> None:
        world.clock.advance(TRANSACTION_TIMEOUT_MS + 2_000)  # what is open times out
        for partition in (*WRITTEN, OUTPUT):
            stable, end = (_end_offset(world, partition, level) for level in (1, 0))
            if stable != end:
                raise BrokenPromise(
                    f"seed {self.seed}: {partition} is stuck at {stable}, its end is {end}"
                )
        outputs = self._read_all(world)
        anomalies = check(self.history)
        if anomalies:
            first = "\n".join(str(one) for one in anomalies[:5])
            raise BrokenPromise(f"seed {self.seed}: {len(anomalies)} anomalies\n{first}")
        stage = Stage(world)
        found: list[int] = []
        stage.add(_note_committed(found))
        stage.run(lambda: bool(found), CALM_MS)
        judge_outputs(found[0], outputs)

    def _read_all(self, world: World) -> list[str]:
        """A fresh reader from start to end; what is in the output."""
        reader = CommittedReader(self.history, 99)
        outputs: list[str] = []

        def read() -> Actor:
            for partition in (*WRITTEN, OUTPUT):
                while True:
                    before = reader.positions.get(partition, 0)
                    values = yield from reader.poll(partition, max_bytes=1 << 20)
                    if partition == OUTPUT:
                        outputs.extend(values)
                    if reader.positions[partition] == before:
                        break

        stage = Stage(world)
        stage.add(read())
        if not stage.run(lambda: stage.is_over, CALM_MS):
            raise BrokenPromise(f"seed {self.seed}: the log cannot be read to its end")
        return outputs


def _end_offset(world: World, partition: TopicPartition, isolation_level: int) -> int:
    wanted = {"partition_index": partition.partition, "timestamp": -1}
    body = {
        "replica_id": -1,
        "isolation_level": isolation_level,
        "topics": [{"name": partition.topic, "partitions": [wanted]}],
    }
    answer = world.ask(ApiKey.LIST_OFFSETS, body, version=6)
    row = answer.topics[0].partitions[0]
    assert row.error_code == 0, row
    return int(row.offset)


def _note_committed(found: list[int]) -> Actor:
    found.append((yield from committed_offset()))


def main(arguments: list[str]) -> int:
    """Seeds from FIRST on, COUNT of them; says which failed and goes on."""
    first, count = int(arguments[0]), int(arguments[1])
    loses_power = "--power" in arguments
    failed = 0
    for seed in range(first, first + count):
        try:
            ExactlyOnceRun(seed, loses_power=loses_power).go()
        except AssertionError as broken:
            failed += 1
            print(f"seed {seed}: {broken}")
    print(f"{count} seeds, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
