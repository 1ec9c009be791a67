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
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.checkers import History, Outcome, check
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep, Stage
from kafkapy.sim.clients.committed_reader import CommittedReader
from kafkapy.sim.clients.transactional_producer import (
    GROUP,
    Consumed,
    Fenced,
    TransactionalProducer,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.power import PowerCut
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

WRITTEN: Final = tuple(TopicPartition("written", index) for index in range(3))
INPUT: Final = TopicPartition("input", 0)
OUTPUT: Final = TopicPartition("output", 0)
TOPICS: Final = {"written": 3, "input": 1, "output": 1}
INPUTS: Final = 40
TRANSACTION_TIMEOUT_MS: Final = 5_000

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
        for process, is_v2 in enumerate((True, True, False, False), 1):
            stage.add(self._writer(world, dice.fork(f"writer {process}"), process, is_v2))
        stage.add(self._transformer(world, dice.fork("transformer v2"), 5, is_v2=True))
        stage.add(self._transformer(world, dice.fork("transformer v1"), 6, is_v2=False))
        stage.add(self._reader(dice.fork("reader"), 7))
        stage.add(self._reader(dice.fork("another reader"), 8))
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

    # Actors

    def _value(self) -> str:
        self._values += 1
        return f"v{self._values}"

    def _writer(self, world: World, dice: SimRng, process: int, is_v2: bool) -> Actor:
        # Two processes with one id: each fences the other.
        transactional_id = f"writer-{'v2' if is_v2 else 'v1'}-{process if dice.chance(50) else 0}"
        while not self._is_calm:
            producer = TransactionalProducer(
                world.clock, self.history, process, transactional_id, is_v2, TRANSACTION_TIMEOUT_MS
            )
            try:
                yield from producer.begin()
                while not self._is_calm and not dice.chance(5):
                    yield from self._write(producer, dice)
                    yield Sleep(dice.magnitude(1, 300))
            except Fenced:
                yield Sleep(dice.between(10, 500))

    def _write(self, producer: TransactionalProducer, dice: SimRng) -> Any:
        operation = producer.open()
        try:
            for _ in range(dice.between(0, 5)):
                values = [self._value() for _ in range(dice.between(1, 3))]
                yield from producer.send(dice.choice(WRITTEN), values)
                yield Sleep(dice.magnitude(1, 60))
        except Fenced:
            producer.close(operation, Outcome.FAIL)
            raise
        if dice.chance(5):  # the process vanishes; the next one, or time, aborts for it
            producer.close(operation, Outcome.FAIL)
            raise Fenced("vanished")
        yield from producer.end(operation, commit=dice.chance(70))

    def _transformer(self, world: World, dice: SimRng, process: int, is_v2: bool) -> Actor:
        """Takes turns with the other one: they share the transactional id and the group."""
        producer = TransactionalProducer(
            world.clock, self.history, process, "transformer", is_v2, TRANSACTION_TIMEOUT_MS
        )
        while not self._is_calm:
            try:
                yield from producer.begin()
                for _ in range(dice.between(1, 6)):
                    if self._is_calm:
                        return
                    yield from self._transform(producer, dice)
                    yield Sleep(dice.magnitude(1, 200))
            except Fenced:
                pass
            yield Sleep(dice.between(100, 1_000))

    def _transform(self, producer: TransactionalProducer, dice: SimRng) -> Any:
        at = yield from _committed_offset()
        if at >= INPUTS:
            yield Sleep(500)
            return
        upto = min(INPUTS, at + dice.between(1, 3))
        operation = producer.open()
        try:
            attempt = self._value()
            outputs = [f"{number}/{attempt}" for number in range(at, upto)]
            yield from producer.send(OUTPUT, outputs)
            yield from producer.commit_offsets(Consumed(INPUT, upto))
        except Fenced:
            producer.close(operation, Outcome.FAIL)
            raise
        yield from producer.end(operation, commit=dice.chance(80))

    def _reader(self, dice: SimRng, process: int) -> Actor:
        reader = CommittedReader(self.history, process)
        while not self._is_calm:
            yield from reader.poll(dice.choice((*WRITTEN, OUTPUT)))
            yield Sleep(dice.magnitude(1, 100))

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
        expected = Counter({str(number): 1 for number in range(found[0])})
        got = Counter(value.partition("/")[0] for value in outputs)
        if got != expected:
            raise BrokenPromise(
                f"seed {self.seed}: {found[0]} inputs are done, their outputs are {got}"
            )

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


def _committed_offset() -> Any:
    """The group's offset in the input, once no open transaction may still change it."""
    body = {
        "groups": [
            {
                "group_id": GROUP,
                "topics": [{"name": INPUT.topic, "partition_indexes": [INPUT.partition]}],
            }
        ],
        "require_stable": True,
    }
    while True:
        answer = yield Ask(ApiKey.OFFSET_FETCH, 8, body)
        if answer is not LOST:
            group = answer.groups[0]
            if group.error_code == 0:
                row = group.topics[0].partitions[0]
                if row.error_code == 0:
                    return max(0, row.committed_offset)
        yield Sleep(50)


def _note_committed(found: list[int]) -> Actor:
    found.append((yield from _committed_offset()))


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
