"""One history of many threads: what each client did and saw, in one order."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaError

from kafkapy.sim.checkers import Anomaly, History, Operation, Outcome, check
from kafkapy.sim.checkers.history import Partition, Step


@dataclass(slots=True)
class Recording:
    """The checkers' history behind a lock, and values that were never sent before."""

    # Errors that a client library did not get over by itself, by name.
    told: Counter[str] = field(default_factory=Counter)
    _history: History = field(default_factory=History)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def invoke(
        self, process: int, *, is_transaction: bool = False, reads_committed: bool = True
    ) -> Operation:
        with self._lock:
            return self._history.invoke(
                process, is_transaction=is_transaction, reads_committed=reads_committed
            )

    def commit_invoked(self, operation: Operation) -> None:
        with self._lock:
            self._history.commit_invoked(operation)

    def complete(self, operation: Operation, outcome: Outcome, steps: Sequence[Step]) -> None:
        with self._lock:
            self._history.complete(operation, outcome, *steps)

    def tell(self, error: KafkaError, what: str) -> None:
        with self._lock:
            self.told[f"{what}: {error.name()}"] += 1

    def anomalies(self) -> list[Anomaly]:
        """Of what is recorded by now; what is under way has no steps yet."""
        with self._lock:
            return check(self._history)

    def highest_acknowledged(self) -> dict[Partition, int]:
        """Where a log must not end before: what is lost at its end no consumer passes over."""
        highest: dict[Partition, int] = {}
        with self._lock:
            for operation in self._history.operations:
                if operation.outcome is Outcome.OK:
                    for send in operation.sends:
                        if send.offset is not None:
                            before = highest.get(send.partition, -1)
                            highest[send.partition] = max(before, send.offset)
        return highest

    def write(self, path: Path) -> None:
        """All of it, an operation a line with what it sent and saw, for whoever has to find out."""
        with self._lock, path.open("w") as file:
            for one in self._history.operations:
                print(one, one.completed, *one.steps, sep="\t", file=file)

    def __len__(self) -> int:
        return len(self._history.operations)

    def committed(self) -> int:
        """How many transactions are known to be committed."""
        return sum(
            one.is_transaction and one.outcome is Outcome.OK for one in self._history.operations
        )
