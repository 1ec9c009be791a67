"""One stretch of a partition log: a file of batches and the indexes beside it.

    <base>.log        batches, nothing else
    <base>.index      offset -> position         loaded when asked for, written when the
    <base>.timeindex  timestamp -> offset        segment is sealed, closed or goes idle
    <base>.txnindex   aborted transactions       only if there are any; written at once

Of the active segment the index files are behind what is in memory; that is harmless,
since every segment at or above the recovery point is scanned after a crash. Sealed
segments must have whole index files before the recovery point passes them: `flush`.

An idle segment costs no descriptor and a few hundred bytes. Whether to roll, and how
segments form a log, is not decided here. formats/log 6 to 9.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.seams import Bytes, Disk, File, FileSlice, Flushed
from kafkapy.core.time import Instant
from kafkapy.log.joined import join
from kafkapy.log.names import (
    LOG,
    OFFSET_INDEX,
    SEGMENT_SUFFIXES,
    TIME_INDEX,
    TRANSACTION_INDEX,
    offset_file,
)
from kafkapy.log.segments.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from kafkapy.log.segments.offset_index import OffsetIndex
from kafkapy.log.segments.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from kafkapy.log.segments.time_index import NO_TIMESTAMP, TimeIndex
from kafkapy.log.segments.transaction_index import ENTRY_SIZE as ABORTED_ENTRY_SIZE
from kafkapy.log.segments.transaction_index import (
    AbortedTransaction,
    count_below,
    decode_entries,
    encode_entry,
)
from kafkapy.protocol.batches.batch import (
    EXTENT_SIZE,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    batches,
    extent_at,
    read_header,
)

# Small batches come a dozen to the index interval (4096): one read finds most of them.
_SCAN_BYTES: Final = 8192
_WALK_BYTES: Final = 1024 * 1024


class Segment:
    """`size` is the length of the log file; offsets in it begin at `base_offset`."""

    __slots__ = (
        "_aborted",
        "_bytes_since_entry",
        "_disk",
        "_file",
        "_first_timestamp",
        "_has_transaction_index",
        "_newest",
        "_offsets",
        "_times",
        "base_offset",
        "created",
        "directory",
        "is_modified",
        "roll_jitter_ms",
        "size",
        "state",
        "was_used",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        size: int,
        created: Instant,
        has_transaction_index: bool,
        state: str = "",
    ) -> None:
        self._disk = disk
        self.directory = directory
        self.base_offset = base_offset
        self.size = size
        self.created = created
        self.state = state  # "", ".cleaned", ".swap" or ".deleted" behind the names
        self.roll_jitter_ms = 0
        self.is_modified = False  # since it was opened or sealed
        self.was_used = False
        self._has_transaction_index = has_transaction_index
        self._file: File | None = None
        self._offsets: OffsetIndex | None = None
        self._times: TimeIndex | None = None
        self._aborted: list[AbortedTransaction] | None = None
        # (largest timestamp, last offset of the first batch that has it), once known.
        self._newest: tuple[int, int] | None = None
        self._first_timestamp: int | None = None
        self._bytes_since_entry = 0

    @classmethod
    def create(
        cls, disk: Disk, directory: str, base_offset: int, created: Instant, *, state: str = ""
    ) -> "Segment":
        """A new, empty segment; leftovers of the same name are overwritten."""
        segment = cls(
            disk,
            directory,
            base_offset,
            size=0,
            created=created,
            has_transaction_index=False,
            state=state,
        )
        segment._newest = (NO_TIMESTAMP, base_offset)
        segment._offsets = OffsetIndex(base_offset)
        segment._times = TimeIndex(base_offset)
        if disk.exists(segment.path(TRANSACTION_INDEX)):
            disk.remove(segment.path(TRANSACTION_INDEX))
        for suffix in (OFFSET_INDEX, TIME_INDEX):
            index = disk.open(segment.path(suffix), create=True)
            if index.size:
                index.truncate(0)
            index.close()
        segment._file = disk.open(segment.path(LOG), create=True)
        if segment._file.size:
            segment._file.truncate(0)
        return segment

    def __repr__(self) -> str:
        return f"Segment({self.path(LOG)}, size={self.size})"

    def path(self, suffix: str) -> str:
        return f"{self.directory}/{offset_file(self.base_offset, suffix, self.state)}"

    @property
    def file(self) -> File:
        file = self._file
        if file is None:
            file = self._file = self._disk.open(self.path(LOG))
        return file

    # -- writing

    def append(
        self, parts: Sequence[Bytes], headers: Sequence[BatchHeader], index_interval_bytes: int
    ) -> None:
        """Write batches at the end; `headers` are those in `parts`. DiskFailed: as before."""
        (self._file or self.file).append(parts)
        position = self.size
        for header in headers:
            position = self.note(header, position, index_interval_bytes)
        self.size = position
        self.is_modified = True

    def note(self, header: BatchHeader, position: int, index_interval_bytes: int) -> int:
        """Index one batch at `position`, if it is time for an entry; where the next begins."""
        newest = self._newest or self.newest
        if header.max_timestamp > newest[0]:
            newest = self._newest = (header.max_timestamp, header.last_offset)
        if self._bytes_since_entry > index_interval_bytes:
            self.offsets.append(header.last_offset, position)
            self.times.append(*newest)
            self._bytes_since_entry = 0
        size = header.length + LOG_OVERHEAD
        self._bytes_since_entry += size
        return position + size

    def add_aborted(self, aborted: AbortedTransaction) -> None:
        entries = self.aborted
        index = self._disk.open(self.path(TRANSACTION_INDEX), create=True)
        try:
            index.append([encode_entry(aborted)])
        finally:
            index.close()
        self._has_transaction_index = True
        entries.append(aborted)

    def reset_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        """The transaction index anew, as a scan of the log found it."""
        if self._has_transaction_index or aborted:
            index = self._disk.open(self.path(TRANSACTION_INDEX), create=True)
            try:
                index.truncate(0)
                if aborted:
                    index.append([encode_entry(entry) for entry in aborted])
            finally:
                index.close()
            self._has_transaction_index = True
        self._aborted = list(aborted)

    def is_transaction_index_good(self) -> bool:
        try:
            decode_entries(self._disk.read_file(self.path(TRANSACTION_INDEX)), self.base_offset)
        except Corrupt:
            return False
        return True

    def seal(self) -> None:
        """No more appends: the closing time entry, and the indexes into their files."""
        self.times.append(*self.newest)
        self.save_indexes()
        self.is_modified = False

    def save_indexes(self) -> None:
        """Bring the index files up to what is in memory."""
        if self._offsets is not None:
            self._save(OFFSET_INDEX, self._offsets.saved * OFFSET_ENTRY_SIZE, self._offsets.unsaved)
            self._offsets.saved = len(self._offsets)
        if self._times is not None:
            self._save(TIME_INDEX, self._times.saved * TIME_ENTRY_SIZE, self._times.unsaved)
            self._times.saved = len(self._times)

    def entries_left(self, max_index_bytes: int) -> int:
        """How many more the indexes have room for; one place of the time index is for the
        closing entry."""
        offsets, times = self._offsets or self.offsets, self._times or self.times
        offsets_left = max_index_bytes // OFFSET_ENTRY_SIZE - len(offsets.entries)
        times_left = (max_index_bytes - len(times.data)) // TIME_ENTRY_SIZE - 1
        return max(0, min(offsets_left, times_left))

    def drop_idle_indexes(self) -> None:
        """Give the memory of the indexes back if nobody used them since the last call."""
        was_used, self.was_used = self.was_used, False
        if was_used or (self._offsets is None and self._aborted is None):
            return
        self.save_indexes()
        self._offsets = None
        self._times = None
        self._aborted = None

    def _save(self, suffix: str, saved_bytes: int, unsaved: Callable[[], bytes]) -> None:
        data = unsaved()
        file = self._disk.open(self.path(suffix), create=True)
        try:
            if file.size > saved_bytes:
                file.truncate(saved_bytes)
            if file.size < saved_bytes:
                # What a turn kept for it was lost, and will be told at the end of the turn.
                raise DiskFailed(file.path, f"{file.size} of {saved_bytes} bytes are there")
            if data:
                file.append([data])
        finally:
            file.close()

    def flush(self, then: Flushed) -> None:
        """Make the log file durable."""
        self.file.flush(then)

    def flush_sealed(self, then: Flushed) -> None:
        """Make all its files durable."""
        suffixes = SEGMENT_SUFFIXES if self._has_transaction_index else SEGMENT_SUFFIXES[:3]
        one_flushed = join(len(suffixes), then)
        for suffix in suffixes:
            path = self.path(suffix)
            try:
                file = self._disk.open(path)
            except FileNotFoundError:
                one_flushed(_was_removed(path))
            else:
                file.flush(one_flushed)
                file.close()

    def cut(self, position: int, offset: int) -> None:
        """End at `position`: nothing at `offset` or above is left."""
        self.file.truncate(position)
        self.size = position
        self.offsets.truncate(offset)
        self.times.truncate(offset)
        kept = count_below(self.aborted, offset)
        if kept < len(self.aborted):
            del self.aborted[kept:]
            index = self._disk.open(self.path(TRANSACTION_INDEX))
            index.truncate(kept * ABORTED_ENTRY_SIZE)
            index.close()
        self.save_indexes()
        self.is_modified = True
        self._bytes_since_entry = 0
        if position == 0:
            self._first_timestamp = None
        # The batch with the largest timestamp may be behind the last index entry.
        self._newest = self._newest_from(self.offsets.lookup(offset))

    def _newest_from(self, position: int) -> tuple[int, int]:
        newest = self.times.last
        for _, header in self.headers(position):
            if header.max_timestamp > newest[0]:
                newest = (header.max_timestamp, header.last_offset)
        return newest

    # -- reading

    def locate(self, offset: int) -> tuple[int, int] | None:
        """(position, base offset) of the first batch that ends at `offset` or later."""
        position = self.offsets.lookup(offset)
        file, end = self._file or self.file, self.size
        while position < end:
            chunk = file.read(position, _SCAN_BYTES)
            at, last = 0, len(chunk) - EXTENT_SIZE
            while at <= last:
                base_offset, length, last_offset_delta = extent_at(chunk, at)
                if base_offset + last_offset_delta >= offset:
                    return position + at, base_offset
                if length < HEADER_SIZE - LOG_OVERHEAD:
                    raise Corrupt(f"{self.path(LOG)}: no batch at {position + at}")
                at += length + LOG_OVERHEAD
            if at == 0:
                return None
            position += at
        return None

    def batch_size(self, position: int) -> int:
        """Bytes of the batch at `position`."""
        return read_header(self.file.read(position, HEADER_SIZE)).size

    def slice(self, position: int, length: int) -> FileSlice:
        return (self._file or self.file).slice(position, length)

    def headers(self, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of each batch from the one at `position` on."""
        while self.size - position >= HEADER_SIZE:
            chunk = self.file.read(position, _SCAN_BYTES)
            at = 0
            while len(chunk) - at >= HEADER_SIZE:
                header = read_header(chunk, at)
                yield position + at, header
                at += header.size
            if not at:
                raise Corrupt(f"{self.path(LOG)} ends at {position}, not at {self.size}")
            position += at

    def walk(self, position: int = 0) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """(position, header, bytes) of each whole batch from the one at `position` on."""
        wanted = _WALK_BYTES
        while position < self.size:
            chunk = memoryview(self.file.read(position, min(wanted, self.size - position)))
            end = 0
            for at, header in batches(chunk):
                end = at + header.size
                yield position + at, header, chunk[at:end]
            if end == 0:
                if len(chunk) < HEADER_SIZE or position + wanted >= self.size:
                    return  # a last batch that is cut off
                wanted = read_header(chunk).size  # one larger than a chunk
                if position + wanted > self.size:
                    return
            else:
                wanted = _WALK_BYTES
            position += end

    def read_next_offset(self) -> int:
        """The offset after the last batch."""
        next_offset = self.base_offset
        position = self.offsets[len(self.offsets) - 1][1] if len(self.offsets) else 0
        for _, header in self.headers(position):
            next_offset = header.next_offset
        return next_offset

    # -- what the indexes know

    @property
    def offsets(self) -> OffsetIndex:
        self.was_used = True
        offsets = self._offsets
        return self._load_indexes()[0] if offsets is None else offsets

    @property
    def times(self) -> TimeIndex:
        self.was_used = True
        times = self._times
        return self._load_indexes()[1] if times is None else times

    @property
    def has_aborted(self) -> bool:
        """Whether there may be some."""
        return self._has_transaction_index

    @property
    def aborted(self) -> list[AbortedTransaction]:
        """Transactions with their ABORT marker in this segment."""
        if self._aborted is None:
            self._aborted = []
            if self._has_transaction_index:
                data = self._disk.read_file(self.path(TRANSACTION_INDEX))
                self._aborted = decode_entries(data, self.base_offset)
        return self._aborted

    @property
    def newest(self) -> tuple[int, int]:
        """(largest timestamp, last offset of the first batch that has it); -1 if none."""
        if self._newest is None:
            self._newest = self._read_last_time_entry()
        return self._newest

    @property
    def largest_timestamp(self) -> int:
        """As Kafka sees the age of a segment: of its records, or else of its file."""
        timestamp = self.newest[0]
        return timestamp if timestamp >= 0 else self._disk.modified_ms(self.path(LOG))

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch; -1 without one."""
        if self._first_timestamp is None:
            if self.size < HEADER_SIZE:
                return NO_TIMESTAMP
            self._first_timestamp = read_header(self.file.read(0, HEADER_SIZE)).max_timestamp
        return self._first_timestamp

    def _read_last_time_entry(self) -> tuple[int, int]:
        """Without loading the index: retention asks every segment of every partition."""
        path = self.path(TIME_INDEX)
        if self._times is None and self._disk.exists(path):
            file = self._disk.open(path)
            try:
                data = file.read(max(file.size - TIME_ENTRY_SIZE, 0), TIME_ENTRY_SIZE)
            finally:
                file.close()
            if any(data):  # zeros: not trimmed, not to be trusted
                return TimeIndex(self.base_offset, data).last
        return self.times.last

    def _load_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """From the files; made anew from the log if they are missing or cannot be right."""
        try:
            offsets = OffsetIndex(
                self.base_offset, self._disk.read_file(self.path(OFFSET_INDEX)), self.size
            )
            times = TimeIndex(self.base_offset, self._disk.read_file(self.path(TIME_INDEX)))
        except (FileNotFoundError, Corrupt):
            return self.rebuild_indexes(4096)
        self._offsets, self._times = offsets, times
        return offsets, times

    def rebuild_indexes(self, index_interval_bytes: int) -> tuple[OffsetIndex, TimeIndex]:
        """Index anew what is in the log file."""
        indexes = self.start_indexes()
        for position, header in self.headers():
            self.note(header, position, index_interval_bytes)
        return indexes

    def start_indexes(self) -> tuple[OffsetIndex, TimeIndex]:
        """Empty indexes; whoever scans the log passes each batch to `note`."""
        self._offsets = offsets = OffsetIndex(self.base_offset)
        self._times = times = TimeIndex(self.base_offset)
        self._newest = (NO_TIMESTAMP, self.base_offset)
        self._bytes_since_entry = 0
        return offsets, times

    # -- the files

    def rename(self, state: str) -> None:
        """Change what stands behind the names of all files."""
        moves = []
        for suffix in SEGMENT_SUFFIXES:
            if suffix != TRANSACTION_INDEX or self._has_transaction_index:
                moves.append((self.path(suffix), suffix))
        self.state = state
        for old, suffix in moves:
            try:
                self._disk.rename(old, self.path(suffix))
            except FileNotFoundError as missing:
                if suffix == LOG:
                    raise _was_removed(old) from missing

    def remove(self) -> None:
        """Close and delete all files; those in use by responses live on until released."""
        self.close()
        for suffix in SEGMENT_SUFFIXES:
            if suffix != TRANSACTION_INDEX or self._has_transaction_index:
                try:
                    self._disk.remove(self.path(suffix))
                except FileNotFoundError:
                    continue

    def close(self) -> None:
        """Let the log file go; it is opened again when needed."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _was_removed(path: str) -> DiskFailed:
    """By somebody else: as bad as a disk that fails, and no worse."""
    return DiskFailed(path, "removed while it was in use")
