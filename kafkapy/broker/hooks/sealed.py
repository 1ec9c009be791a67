"""A topic that takes no new records (`kafkapy.sealed`): what is there is read, no more is added.

What the node itself writes is written: markers end the transactions that are open.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.log.append import RecordsRefused

SEALED: Final = "kafkapy.sealed"


class SealedGate:
    """Implements `partitions.partition.HasHook`."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def submit(
        self,
        records: memoryview | bytes,
        is_wanted: Callable[[], bool],
        then: Callable[[bytes | Refused], None],
    ) -> None:
        sentence = f"topic {self._topic} is sealed: it takes no new records"
        then(RecordsRefused(ErrorCode.POLICY_VIOLATION, sentence, ()))
