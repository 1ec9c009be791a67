"""Torn transaction: some of its records were read and another was passed over.

Holds for transactions of unknown outcome too: they may happen or not, but whole. A
read_committed consumer goes past an offset only once the record's fate is decided.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import (
    Anomaly,
    History,
    Operation,
    Polled,
    Read,
    Sent,
    all_polls,
    writers,
)
from kafkapy.sim.checkers.passing import passed_over


def check(history: History) -> Iterator[Anomaly]:
    wrote = writers(history)
    read: dict[Operation, tuple[Read, Polled]] = {}
    for polled in all_polls(history, committed_only=True):
        for one in polled.poll.reads:
            writer = wrote.get((polled.poll.partition, one.value))
            if writer is not None and writer.is_transaction:
                read.setdefault(writer, (one, polled))
    missing: dict[Operation, tuple[Sent, Polled]] = {}
    for sent, polled in passed_over(history, committed_only=True):
        missing.setdefault(sent.by, (sent, polled))
    for writer, (one, reader) in read.items():
        if writer in missing:
            sent, passer = missing[writer]
            yield Anomaly(
                "torn transaction",
                f"of {writer}, {reader.by} read {one.value!r} in {reader.poll.partition} but "
                f"{passer.by} passed over {sent.send.value!r} in {sent.send.partition}",
                (writer, reader.by, passer.by),
            )
