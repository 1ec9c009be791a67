"""What says which records a view shows: an expression, or an expression and others' Python."""

from typing import Protocol

from kafkapy.protocol.batches.records import Record


class Condition(Protocol):
    @property
    def cost_us(self) -> int:
        """What walking a record and asking about it took the last time."""

    def holds(self, record: Record, partition: int, topic: str) -> bool:
        """Whether it is shown; the same for the same record."""
