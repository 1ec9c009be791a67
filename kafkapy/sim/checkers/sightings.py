"""Everyone who says what stands where: whoever wrote it and was told, whoever read it."""

from collections.abc import Iterator
from typing import NamedTuple

from kafkapy.sim.checkers.history import History, Operation, Partition, Value


class Sighting(NamedTuple):
    partition: Partition
    offset: int
    value: Value
    by: Operation


def sightings(history: History) -> Iterator[Sighting]:
    for operation in history.operations:
        for send in operation.sends:
            if send.offset is not None:
                yield Sighting(send.partition, send.offset, send.value, operation)
        for poll in operation.polls:
            for read in poll.reads:
                yield Sighting(poll.partition, read.offset, read.value, operation)
