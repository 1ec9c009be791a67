"""The words of an append: where it comes from, what became of it, why it was refused."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from kafkapy.core.errors import ErrorCode, Refused


class Origin(Enum):
    """Who appends decides how much is checked.

    CLIENT       everything: exactly one batch, sequences, timestamps.
    COORDINATOR  this broker's own records (groups, transactions, markers): epochs only.
    REPLICATION  what a leader accepted already: offsets and epochs are in the bytes.
    RAFT         the metadata log; no producers at all.
    """

    CLIENT = auto()
    COORDINATOR = auto()
    REPLICATION = auto()
    RAFT = auto()


class AppendInfo(NamedTuple):
    """What a leader's append answers; `log_append_time_ms` is -1 for CreateTime."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool = False


class NotOneBatch(Refused):
    """A client's bytes that are not exactly one batch of today's format: the log they were
    meant for is not asked about them."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, message)


class RecordsRefused(Refused):
    """A batch refused because of some of its records: (index in the batch, sentence)."""

    def __init__(
        self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = list(record_errors)
