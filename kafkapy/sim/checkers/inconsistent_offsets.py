"""Inconsistent offsets: two values at one offset of a partition.

Replicas diverged, or an acknowledged record was truncated and its place given away.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, History, Operation, Partition, Value
from kafkapy.sim.checkers.sightings import sightings


def check(history: History) -> Iterator[Anomaly]:
    at: dict[tuple[Partition, int], tuple[Value, Operation]] = {}
    reported = set()
    for partition, offset, value, by in sightings(history):
        first, witness = at.setdefault((partition, offset), (value, by))
        if first != value and (partition, offset) not in reported:
            reported.add((partition, offset))
            yield Anomaly(
                "inconsistent offsets",
                f"{partition}@{offset} is {first!r} to {witness} and {value!r} to {by}",
                (witness, by),
            )
