"""Duplicate: one value at two offsets of a partition, although it was sent once.

A producer's retries must not show: that is what idempotence is for.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, History, Operation, Partition, Value
from kafkapy.sim.checkers.sightings import sightings


def check(history: History) -> Iterator[Anomaly]:
    at: dict[tuple[Partition, Value], tuple[int, Operation]] = {}
    reported = set()
    for partition, offset, value, by in sightings(history):
        first, witness = at.setdefault((partition, value), (offset, by))
        if first != offset and (partition, value) not in reported:
            reported.add((partition, value))
            yield Anomaly(
                "duplicate",
                f"{value!r} is in {partition} at {first} ({witness}) and at {offset} ({by})",
                (witness, by),
            )
