"""Histories in a few words: one line an operation."""

from kafkapy.sim.checkers import History, Operation, Outcome, Poll, Read
from kafkapy.sim.checkers.history import Step

OK, FAIL, INFO = Outcome.OK, Outcome.FAIL, Outcome.INFO


def polled(partition: str, position: int, *values: object, to: int | None = None) -> Poll:
    """Values at consecutive offsets from `position`; None for an offset without a record."""
    reads = tuple(
        Read(position + at, value) for at, value in enumerate(values) if value is not None
    )
    return Poll(partition, position, position + len(values) if to is None else to, reads)


class Recorder(History):
    def did(
        self, process: int, *steps: Step, outcome: Outcome = OK, committed_only: bool = True
    ) -> Operation:
        operation = self.invoke(process, reads_committed=committed_only)
        self.complete(operation, outcome, *steps)
        return operation

    def transacted(self, process: int, *steps: Step, outcome: Outcome = OK) -> Operation:
        operation = self.invoke(process, is_transaction=True)
        if outcome is not FAIL:
            self.commit_invoked(operation)
        self.complete(operation, outcome, *steps)
        return operation
