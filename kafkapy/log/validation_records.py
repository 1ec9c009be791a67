"""The slow path of validation: what is wrong with single records, and writing them anew.

One bad record refuses its whole batch. The answer names the bad ones by their index, with
INVALID_TIMESTAMP if any of them has a timestamp out of range, else INVALID_RECORD.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.log.append import NO_TIMESTAMP, RecordsRefused
from kafkapy.log.config import LogConfig, RecordCheck
from kafkapy.protocol.batches.batch import BatchHeader
from kafkapy.protocol.batches.records import Record, encode_record

# The sentence names this many bad records at most; a batch may hold a hundred thousand.
_ERRORS_NAMED: Final = 3
# No batch of a megabyte has as many records, unless it is compressed. One of some hundred
# thousand times that is refused for these, and not looked at any further.
MOST_ERRORS: Final = 200_000


def check_records(
    header: BatchHeader, records: Sequence[Record], config: LogConfig, now: Instant
) -> None:
    """RecordsRefused if one of a client's records may not be in this topic."""
    faults = Faults(header, config, now)
    for index, record in enumerate(records):
        faults.look_at(index, record)
    faults.refuse()


class Faults:
    """Those of a client's records, found one after the other."""

    def __init__(self, header: BatchHeader, config: LogConfig, now: Instant) -> None:
        self._header = header
        self._config = config
        self._is_compacted = config.is_compacted
        self._now = now
        self._errors: list[tuple[int, str]] = []
        self._has_bad_timestamp = False

    def look_at(self, index: int, record: Record) -> None:
        if self._is_compacted and record.key is None:
            self._add(index, "a record of a compacted topic needs a key")
            return
        why = _timestamp_error(self._header, record, self._config, self._now)
        if why is not None:
            self._has_bad_timestamp = True
            self._add(index, why)

    def refuse(self) -> None:
        """RecordsRefused if there are any."""
        if self._has_bad_timestamp:
            sentence = "records with invalid timestamps"
            raise RecordsRefused(ErrorCode.INVALID_TIMESTAMP, sentence, self._errors)
        refuse_records(self._errors)

    def _add(self, index: int, why: str) -> None:
        self._errors.append((index, why))
        if len(self._errors) == MOST_ERRORS:
            self.refuse()


def check_each(records: Iterable[Record], check: RecordCheck) -> None:
    """RecordsRefused if somebody finds something wrong with a record; Refused if the records
    are not what their batch's header says."""
    found = ((index, check(record)) for index, record in enumerate(records))
    try:
        errors = [(index, why) for index, why in found if why is not None]
    except Corrupt as error:
        raise Refused(ErrorCode.INVALID_RECORD, str(error)) from error
    refuse_records(errors)


def refuse_records(errors: list[tuple[int, str]]) -> None:
    """RecordsRefused if there are any."""
    if errors:
        first = "; ".join(f"{index}: {why}" for index, why in errors[:_ERRORS_NAMED])
        raise RecordsRefused(
            ErrorCode.INVALID_RECORD, f"{len(errors)} invalid records ({first})", errors
        )


def _timestamp_error(
    header: BatchHeader, record: Record, config: LogConfig, now: Instant
) -> str | None:
    timestamp = record.timestamp
    if not config.uses_log_append_time and timestamp != NO_TIMESTAMP:
        earliest = now - config.message_timestamp_before_max_ms
        latest = now + config.message_timestamp_after_max_ms
        if earliest <= timestamp <= latest:
            return None
        return f"timestamp {timestamp} is not within [{earliest}, {latest}]"
    if header.is_log_append_time:
        return "the producer marked the timestamp as LogAppendTime, which only a broker may"
    return None


def check_offsets(header: BatchHeader, records: Sequence[Record]) -> None:
    """A compressed batch that is kept as it is must number its records 0, 1, 2 ..."""
    for expected, record in enumerate(records, header.base_offset):
        if record.offset != expected:
            raise misnumbered(record, expected)


def misnumbered(record: Record, expected: int) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, f"a record at {record.offset} instead of {expected}")


def renumbered(records: Sequence[Record]) -> tuple[bytes, int]:
    """(payload, base timestamp) of the same records at offset deltas 0, 1, 2 ..."""
    base_timestamp = records[0].timestamp
    out: list[bytes] = []
    for delta, record in enumerate(records):
        out += encode_record(
            delta,
            record.timestamp - base_timestamp,
            record.key,
            record.value,
            record.headers,
        )
    return b"".join(out), base_timestamp
