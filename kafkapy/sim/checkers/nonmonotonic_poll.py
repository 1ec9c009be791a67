"""Nonmonotonic poll: a consumer went back, or got a partition's records out of order,
although nobody told it to start elsewhere.
"""

from collections.abc import Iterator

from kafkapy.sim.checkers.history import Anomaly, Assigned, History, Operation, Partition, Poll


def check(history: History) -> Iterator[Anomaly]:
    last: dict[tuple[int, Partition], tuple[int, Operation]] = {}
    for operation in history.operations:
        for step in operation.steps:
            if isinstance(step, Assigned):
                last.pop((operation.process, step.partition), None)
            elif isinstance(step, Poll):
                yield from _follow(operation, step, last)


def _follow(
    operation: Operation,
    poll: Poll,
    last: dict[tuple[int, Partition], tuple[int, Operation]],
) -> Iterator[Anomaly]:
    consumer = (operation.process, poll.partition)
    for read in poll.reads:
        before = last.get(consumer)
        if before is not None and read.offset <= before[0]:
            yield Anomaly(
                "nonmonotonic poll",
                f"process {operation.process} read {poll.partition}@{read.offset} "
                f"after @{before[0]}",
                (before[1], operation),
            )
        last[consumer] = (read.offset, operation)
