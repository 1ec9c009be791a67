"""Nonmonotonic send: one producer's records stand in a partition in another order than it
sent them. Records whose offsets are not known are left out, failed ones too.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, History, Operation, Outcome, Partition


def check(history: History) -> Iterator[Anomaly]:
    last: dict[tuple[int, Partition], tuple[int, Operation]] = {}
    for operation in history.operations:
        if operation.outcome is Outcome.FAIL and not operation.is_transaction:
            continue
        for send in operation.sends:
            if send.offset is None:
                continue
            producer = (operation.process, send.partition)
            before = last.get(producer)
            if before is not None and send.offset <= before[0]:
                yield Anomaly(
                    "nonmonotonic send",
                    f"process {operation.process} sent {send.value!r} to "
                    f"{send.partition}@{send.offset} after @{before[0]}",
                    (before[1], operation),
                )
            last[producer] = (send.offset, operation)
