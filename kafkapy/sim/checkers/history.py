"""What clients did and saw: the evidence that checkers judge (after Jepsen's Kafka tests).

An operation is one call of one process: it sends, or polls, or is a transaction that does
both. It is recorded twice, when it is invoked and when its outcome is known:

    OK    it happened            FAIL  it did not happen, for certain
    INFO  nobody knows: a timeout, a crash, a broken connection

Times are positions in the one order in which the recorder heard of things. Values must be
different for every send to a partition, so that a value says who wrote it.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

Partition = Hashable
Value = Hashable

NEVER: Final = 2**62


class Outcome(Enum):
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Send(NamedTuple):
    """`offset` as acknowledged; None if it is not known."""

    partition: Partition
    value: Value
    offset: int | None = None


class Read(NamedTuple):
    offset: int
    value: Value


class Poll(NamedTuple):
    """What one poll gave of one partition, and how far it moved the consumer.

    Everything in [position, next_position) that the consumer may see is in `reads`.
    """

    partition: Partition
    position: int
    next_position: int
    reads: tuple[Read, ...] = ()

    def passed(self, offset: int) -> bool:
        return self.position <= offset < self.next_position


class Assigned(NamedTuple):
    """The consumer starts somewhere else now: a seek, or a rebalance."""

    partition: Partition


Step = Send | Poll | Assigned


@dataclass(slots=True, eq=False)
class Operation:
    process: int
    invoked: int
    is_transaction: bool = False
    # Whether its polls are at isolation level read_committed.
    reads_committed: bool = True
    # When a transaction asked to be committed; NEVER if it did not get there.
    commit_invoked: int = NEVER
    completed: int = NEVER
    outcome: Outcome = Outcome.INFO
    steps: tuple[Step, ...] = ()

    @property
    def sends(self) -> Iterator[Send]:
        return (step for step in self.steps if isinstance(step, Send))

    @property
    def polls(self) -> Iterator[Poll]:
        return (step for step in self.steps if isinstance(step, Poll))

    def __repr__(self) -> str:
        kind = "transaction" if self.is_transaction else "operation"
        return f"<{kind} {self.invoked} of process {self.process}, {self.outcome.value}>"


@dataclass(slots=True)
class History:
    """The recorder. Operations stand in the order in which they were invoked."""

    operations: list[Operation] = field(default_factory=list)
    _now: int = 0

    def invoke(
        self, process: int, *, is_transaction: bool = False, reads_committed: bool = True
    ) -> Operation:
        operation = Operation(
            process,
            self._tick(),
            is_transaction=is_transaction,
            reads_committed=reads_committed,
        )
        self.operations.append(operation)
        return operation

    def commit_invoked(self, operation: Operation) -> None:
        operation.commit_invoked = self._tick()

    def complete(self, operation: Operation, outcome: Outcome, *steps: Step) -> None:
        """`steps` in their order, with the offsets and records that are known by now."""
        assert operation.completed == NEVER, ("completed twice", operation)
        operation.completed = self._tick()
        operation.outcome = outcome
        operation.steps = steps

    def _tick(self) -> int:
        self._now += 1
        return self._now


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that must not happen, who took part, and the sentence for the report."""

    kind: str
    sentence: str
    operations: tuple[Operation, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


class Sent(NamedTuple):
    """A send, by whom."""

    by: Operation
    send: Send


class Polled(NamedTuple):
    by: Operation
    poll: Poll


def all_sends(history: History) -> Iterator[Sent]:
    for operation in history.operations:
        for send in operation.sends:
            yield Sent(operation, send)


def all_polls(history: History, *, committed_only: bool = False) -> Iterator[Polled]:
    for operation in history.operations:
        if operation.reads_committed or not committed_only:
            for poll in operation.polls:
                yield Polled(operation, poll)


def writers(history: History) -> dict[tuple[Partition, Value], Operation]:
    """Who sent what. Values are sent once; a client's own retries are one send."""
    found: dict[tuple[Partition, Value], Operation] = {}
    for by, send in all_sends(history):
        before = found.setdefault((send.partition, send.value), by)
        assert before is by, ("the test sent a value twice", send, before, by)
    return found
