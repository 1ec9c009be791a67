"""The words of an append: where it comes from, the verdict on it, what became of it."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Bytes
from kafkapy.protocol.batches.batch import BatchHeader

NO_TIMESTAMP: Final = -1


class Origin(Enum):
    """Who appends decides how much is checked.

    CLIENT       everything: exactly one batch, sequences, timestamps.
    EXAMINED     a client's batch whose records were looked into before (log/examining.py).
    COORDINATOR  this broker's own records (groups, transactions, markers): epochs only.
    REPLICATION  what a leader accepted already: offsets and epochs are in the bytes.
    RAFT         the metadata log; no producers at all.
    """

    CLIENT = auto()
    EXAMINED = auto()
    COORDINATOR = auto()
    REPLICATION = auto()
    RAFT = auto()


class Accepted(NamedTuple):
    """The verdict that is not a refusal: `parts` are to be written one behind the other,
    `headers` are those of the batches in them, as they stand in the bytes."""

    parts: Sequence[Bytes]
    headers: Sequence[BatchHeader]
    size: int
    log_append_time_ms: int  # -1 unless the topic uses LogAppendTime

    @property
    def first_offset(self) -> int:
        return self.headers[0].base_offset

    @property
    def last_offset(self) -> int:
        return self.headers[-1].last_offset


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


class TooMuchAtOnce(Refused):
    """A client's compressed batch that has to be looked into, and unpacks to more than may be
    looked at in one step: it is to be examined in slices first (log/examining.py)."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, "a batch that has to be examined in slices")


class RecordsRefused(Refused):
    """A batch refused because of some of its records: (index in the batch, sentence)."""

    def __init__(
        self, code: ErrorCode, message: str, record_errors: Sequence[tuple[int, str]]
    ) -> None:
        super().__init__(code, message)
        self.record_errors = list(record_errors)
