"""Records that leave soon, read together before they are due.

    wall                    wall + AHEAD_MS
     | at hand ............ | read by the next sweep, once half of them have left

What is due next may be in any batch of the log. So what is due within the next seconds is read in
one sweep in the order of the log, in which a batch is read once for all that is wanted of it; in
pieces, between which records leave. How many one sweep takes follows from how large they were.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kafkapy.broker.relays.reading import Recent
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.relays.progress import NOTHING, due_of, offset_of
from kafkapy.relays.schedule import Schedule

AHEAD_MS: Final = 3_000
_MOST: Final = 4_000
# Found in a row, and what finding one costs.
_AT_ONCE: Final = 500
_ENTRY_COST_US: Final = 1
# Of records whose size nobody knows yet.
_SIZE_AT_FIRST: Final = 1024
_SLICE_US: Final = 640


class Ahead:
    def __init__(self) -> None:
        self._recent = Recent()
        self._records: dict[int, Record | None] = {}
        self._bytes = 0
        self._most_bytes = 0
        self._mean_size = _SIZE_AT_FIRST
        # Entries that a sweep still has to read, the next one last.
        self._to_read: list[int] = []
        # Whatever is due until then was there for the last sweep.
        self._swept_to_ms = 0

    def __contains__(self, entry: int) -> bool:
        return entry in self._records

    @property
    def is_sweeping(self) -> bool:
        return bool(self._to_read)

    def forget(self) -> None:
        self._records.clear()
        self._to_read.clear()
        self._bytes = self._swept_to_ms = 0

    def take(self, entry: int) -> Record | None:
        """One that is at hand; None if the log has it no more."""
        record = self._records.pop(entry)
        self._bytes -= 0 if record is None else size_of(record)
        return record

    def is_time(self, wall: int) -> bool:
        """For a sweep."""
        if self._to_read or len(self._records) > self._most // 2:
            return False
        return not wall + AHEAD_MS // 2 <= self._swept_to_ms <= wall + AHEAD_MS

    def begin(self, schedule: Schedule, wall: int, most_bytes: int) -> Iterator[int]:
        """A sweep for what is due soon after that; yields what each piece cost."""
        self._most_bytes = self._recent.most_bytes = most_bytes
        most, count, last = self._most, 0, NOTHING
        kept: dict[int, Record | None] = {}
        to_read: list[int] = []
        kept_bytes = 0
        while soon := schedule.due(wall + AHEAD_MS, min(_AT_ONCE, most - count), last):
            for entry in soon:
                if entry not in self._records:
                    to_read.append(entry)
                    continue
                record = kept[entry] = self._records[entry]
                kept_bytes += 0 if record is None else size_of(record)
            count += len(soon)
            last = soon[-1]
            yield len(soon) * _ENTRY_COST_US
        self._records, self._bytes = kept, kept_bytes
        self._to_read = sorted(to_read, key=offset_of, reverse=True)
        self._swept_to_ms = due_of(last) if count == most else wall + AHEAD_MS

    def is_stale(self) -> None:
        """There may be more that is due soon than the last sweep knew of."""
        self._swept_to_ms = 0

    def sweep(self, log: PartitionLog, most_us: int) -> Iterator[int]:
        """Goes on with it, for about so long: yields what each piece cost. Where records are larger
        than they were before, those that find no room are left out."""
        spent_us = piece_us = 0
        while self._to_read and spent_us < most_us:
            entry = self._to_read.pop()
            if self._bytes < self._most_bytes:
                cost_us = self._find(log, entry)
                spent_us += cost_us
                piece_us += cost_us
                if piece_us >= _SLICE_US:
                    yield piece_us
                    piece_us = 0

    def read(self, log: PartitionLog, entries: Sequence[int]) -> Iterator[int]:
        """Those of them that no sweep has found, as far as there is room: the first in any case."""
        piece_us = 0
        for entry in sorted(entries, key=offset_of):
            is_wanted = entry == entries[0] or self._bytes < self._most_bytes
            if is_wanted and entry not in self._records:
                piece_us += self._find(log, entry)
                if piece_us >= _SLICE_US:
                    yield piece_us
                    piece_us = 0

    def _find(self, log: PartitionLog, entry: int) -> int:
        """Returns what it cost, in microseconds."""
        record, cost_us = self._recent.find(log, offset_of(entry))
        self._records[entry] = record
        if record is not None:
            size = size_of(record)
            self._bytes += size
            self._mean_size += (size - self._mean_size) // 8
        return cost_us

    @property
    def _most(self) -> int:
        return max(2, min(_MOST, self._most_bytes // max(self._mean_size, 1)))


def size_of(record: Record | NewRecord) -> int:
    return len(record.key or b"") + len(record.value or b"")
