"""Everybody who takes part in exactly once: writers, transformers, readers.

    writers (v1 and v2)      transactions over several partitions; commit, abort, or vanish
    transformers             inputs -> outputs and the inputs' offset, in one transaction
    readers                  read_committed, all the time

When it is over every input below the group's committed offset has exactly one output, and no
other has.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.checkers import History, Outcome
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.clients.committed_reader import CommittedReader
from kafkapy.sim.clients.transactional_producer import (
    GROUP,
    Consumed,
    Fenced,
    TransactionalProducer,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng

WRITTEN: Final = tuple(TopicPartition("written", index) for index in range(3))
INPUT: Final = TopicPartition("input", 0)
OUTPUT: Final = TopicPartition("output", 0)
TOPICS: Final = {"written": 3, "input": 1, "output": 1}
INPUTS: Final = 40
TRANSACTION_TIMEOUT_MS: Final = 5_000


@dataclass(slots=True)
class ExactlyOnce:
    """`new_value`: one that nobody has sent. Its processes are `first_process` and so on."""

    clock: Clock
    history: History
    dice: SimRng
    is_calm: Callable[[], bool]
    new_value: Callable[[], str]
    first_process: int = 1

    def actors(self) -> Iterator[Actor]:
        dice, process = self.dice, self.first_process
        for number, is_v2 in enumerate((True, True, False, False), process):
            yield self._writer(dice.fork(f"writer {number}"), number, is_v2)
        yield self._transformer(dice.fork("transformer v2"), process + 4, is_v2=True)
        yield self._transformer(dice.fork("transformer v1"), process + 5, is_v2=False)
        yield self._reader(dice.fork("reader"), process + 6)
        yield self._reader(dice.fork("another reader"), process + 7)

    def _writer(self, dice: SimRng, process: int, is_v2: bool) -> Actor:
        # Two processes with one id: each fences the other.
        transactional_id = f"writer-{'v2' if is_v2 else 'v1'}-{process if dice.chance(50) else 0}"
        while not self.is_calm():
            producer = TransactionalProducer(
                self.clock, self.history, process, transactional_id, is_v2, TRANSACTION_TIMEOUT_MS
            )
            try:
                yield from producer.begin()
                while not self.is_calm() and not dice.chance(5):
                    yield from self._write(producer, dice)
                    yield Sleep(dice.magnitude(1, 300))
            except Fenced:
                yield Sleep(dice.between(10, 500))

    def _write(self, producer: TransactionalProducer, dice: SimRng) -> Any:
        operation = producer.open()
        try:
            for _ in range(dice.between(0, 5)):
                values = [self.new_value() for _ in range(dice.between(1, 3))]
                yield from producer.send(dice.choice(WRITTEN), values)
                yield Sleep(dice.magnitude(1, 60))
        except Fenced:
            producer.close(operation, Outcome.FAIL)
            raise
        if dice.chance(5):  # the process vanishes; the next one, or time, aborts for it
            producer.close(operation, Outcome.FAIL)
            raise Fenced("vanished")
        yield from producer.end(operation, commit=dice.chance(70))

    def _transformer(self, dice: SimRng, process: int, is_v2: bool) -> Actor:
        """Takes turns with the other one: they share the transactional id and the group."""
        producer = TransactionalProducer(
            self.clock, self.history, process, "transformer", is_v2, TRANSACTION_TIMEOUT_MS
        )
        while not self.is_calm():
            try:
                yield from producer.begin()
                for _ in range(dice.between(1, 6)):
                    if self.is_calm():
                        return
                    yield from self._transform(producer, dice)
                    yield Sleep(dice.magnitude(1, 200))
            except Fenced:
                pass
            yield Sleep(dice.between(100, 1_000))

    def _transform(self, producer: TransactionalProducer, dice: SimRng) -> Any:
        at = yield from committed_offset()
        if at >= INPUTS:
            yield Sleep(500)
            return
        upto = min(INPUTS, at + dice.between(1, 3))
        operation = producer.open()
        try:
            attempt = self.new_value()
            outputs = [f"{number}/{attempt}" for number in range(at, upto)]
            yield from producer.send(OUTPUT, outputs)
            yield from producer.commit_offsets(Consumed(INPUT, upto))
        except Fenced:
            producer.close(operation, Outcome.FAIL)
            raise
        yield from producer.end(operation, commit=dice.chance(80))

    def _reader(self, dice: SimRng, process: int) -> Actor:
        reader = CommittedReader(self.history, process)
        while not self.is_calm():
            yield from reader.poll(dice.choice((*WRITTEN, OUTPUT)))
            yield Sleep(dice.magnitude(1, 100))


def judge_outputs(committed: int, outputs: Sequence[str]) -> None:
    """`outputs`: what a read_committed reader finds of them, from start to end."""
    expected = Counter({str(number): 1 for number in range(committed)})
    got = Counter(value.partition("/")[0] for value in outputs)
    if got != expected:
        raise BrokenPromise(f"{committed} inputs are done, their outputs are {got}")


def committed_offset() -> Any:
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
