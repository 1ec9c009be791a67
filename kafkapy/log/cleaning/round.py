"""One round of cleaning one log: compaction in small steps.

    what is not durable --flush-->
    dirty segments      --keys-->   offset map        (latest offset of each key)
    all segments up to  --batches-> <base>.*.cleaned  one per group of small neighbours
    the map's end       --flush-->  durable --swap--> in the place of its group

`run` is a generator. It yields the cost (about: bytes) of what it just did, or None: wait
for `resume`, a flush is under way. It never holds anything across a yield that the log
may take away: before every read, and before the swap, it asks whether the segments of the
group are still the log's and still as long. If not (truncated, deleted, moved), or after
`abort`, the round ends with nothing changed but the groups swapped in so far.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Final, Protocol

from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Bytes, Disk, Flushed
from kafkapy.core.time import Instant
from kafkapy.log.cleaning.batch import Verdict, filter_batch, map_keys
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.transactions import CleanedTransactions
from kafkapy.log.config import LogConfig
from kafkapy.log.names import CLEANED, LOG, OFFSET_INDEX, TIME_INDEX
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.segments import Segments
from kafkapy.log.segments.transaction_index import AbortedTransaction, collect_aborted
from kafkapy.protocol.batches.batch import HEADER_SIZE, BatchHeader, batches, read_header

_READ_BYTES: Final = 64 * 1024
_WRITE_BYTES: Final = 256 * 1024
_MAX_RELATIVE_OFFSET: Final = 2**31 - 1

Steps = Generator[int | None, None, None]
Batches = Iterator[tuple[BatchHeader, memoryview]]


class CleanableLog(Protocol):
    """What cleaning needs of a PartitionLog."""

    @property
    def topic_partition(self) -> TopicPartition: ...
    @property
    def directory(self) -> str: ...
    @property
    def config(self) -> LogConfig: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...
    @property
    def recovery_point(self) -> int: ...
    @property
    def segments(self) -> Segments: ...
    @property
    def producers(self) -> ProducerStates: ...

    def flush(self, then: Flushed) -> None: ...

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Put `new` (sealed, flushed, state ".cleaned") in the place of `old`: rename to
        .swap, old ones to .deleted (to be removed later), then drop the .swap."""


class Aborted(Exception):
    """The log changed under the cleaner, or is no longer to be cleaned."""


class CleaningRound:
    """`end_offset` is the log's new first dirty offset once `run` has ended."""

    def __init__(
        self,
        disk: Disk,
        log: CleanableLog,
        first_dirty_offset: int,
        first_uncleanable_offset: int,
        offsets: OffsetMap,
        now: Instant,
        resume: Callable[[], None],
    ) -> None:
        self.log = log
        self.end_offset = first_dirty_offset
        self.is_aborted = False
        self.bytes_read = 0
        self.bytes_written = 0
        self._disk = disk
        self._first_dirty_offset = first_dirty_offset
        self._first_uncleanable_offset = first_uncleanable_offset
        self._offsets = offsets
        self._now = now
        self._resume = resume
        self._config = log.config  # one round, one set of rules
        self._sizes_seen: dict[Segment, int] = {}
        self._mapped: list[Segment] = []

    @property
    def has_advanced(self) -> bool:
        """False once `run` has ended: nothing fitted into the map; trying again is no use."""
        return self.end_offset > self._first_dirty_offset

    def abort(self) -> None:
        self.is_aborted = True

    def run(self) -> Steps:
        """Raises Aborted, Corrupt or DiskFailed; files of an unfinished group are removed."""
        if self.log.recovery_point < self._first_uncleanable_offset:
            # A record is removed for the sake of a later one: that must survive a crash.
            yield from self._wait(self.log.flush)
        yield from self._build_map()
        self._check_unchanged(())
        end_offset = max(self._offsets.latest_offset + 1, self._first_dirty_offset)
        segments = [s for s in self.log.segments.sealed if s.base_offset < end_offset]
        transactions = CleanedTransactions(_report_nothing)
        for group in self._groups(segments):
            yield from self._clean(group, transactions)
        self.end_offset = end_offset

    # -- the map

    def _build_map(self) -> Steps:
        start, end = self._first_dirty_offset, self._first_uncleanable_offset
        offsets = self._offsets
        offsets.mapped_up_to(start - 1)
        dirty = [s for s in self.log.segments.starting_at(start) if s.base_offset < end]
        assert dirty, f"nothing to clean in [{start}, {end})"
        ends = [*(s.base_offset for s in dirty[1:]), end]
        transactions = CleanedTransactions(_report_nothing)
        transactions.add(self._aborted_in(start, end))
        for segment, segment_end in zip(dirty, ends, strict=True):
            self._mapped.append(segment)
            for header, batch in self._batches([segment], segment, segment.offsets.lookup(start)):
                if transactions.may_drop(header, batch) or header.is_control:
                    yield header.size
                elif not (yield from map_keys(batch, header, start, offsets)):
                    return
                if header.last_offset >= start:
                    offsets.mapped_up_to(header.last_offset)
            # What compaction has left out of the log counts as mapped too.
            offsets.mapped_up_to(segment_end - 1)

    # -- the groups

    def _groups(self, segments: Sequence[Segment]) -> list[list[Segment]]:
        """Neighbours that are together no larger than one segment may be: cleaning makes
        segments shrink, and joins them again."""
        most_bytes = self._config.segment_bytes
        most_index_bytes = self._config.segment_index_bytes
        groups: list[list[Segment]] = []
        sizes = (0, 0, 0)
        for index, segment in enumerate(segments):
            size, offsets, times = self._sizes(segment)
            joined = (sizes[0] + size, sizes[1] + offsets, sizes[2] + times)
            if (
                groups
                and joined[0] <= most_bytes
                and max(joined[1:]) <= most_index_bytes
                and self._fits(groups[-1][0], segments, index)
            ):
                groups[-1].append(segment)
                sizes = joined
            else:
                groups.append([segment])
                sizes = (size, offsets, times)
        return groups

    def _sizes(self, segment: Segment) -> tuple[int, int, int]:
        disk = self._disk
        return (
            segment.size,
            disk.size(segment.path(OFFSET_INDEX)),
            disk.size(segment.path(TIME_INDEX)),
        )

    def _fits(self, first: Segment, segments: Sequence[Segment], index: int) -> bool:
        """Offsets in a segment are relative to its base, in 32 bits."""
        if segments[index].size == 0:
            return True
        is_last = index + 1 == len(segments)
        end = self._first_uncleanable_offset if is_last else segments[index + 1].base_offset
        return end - 1 - first.base_offset <= _MAX_RELATIVE_OFFSET

    # -- one group

    def _clean(self, group: Sequence[Segment], transactions: CleanedTransactions) -> Steps:
        self._check_unchanged(group)
        disk, directory = self._disk, self.log.directory
        base_offset = group[0].base_offset
        cleaned = Segment.create(disk, directory, base_offset, self._now, state=CLEANED)
        try:
            yield from self._fill(cleaned, group, transactions)
            self._check_unchanged(group)
            cleaned.seal()
            newest = group[-1]
            disk.set_modified_ms(cleaned.path(LOG), disk.modified_ms(newest.path(LOG)))
            # Not swapped in before it is durable: the originals go then.
            yield from self._wait(cleaned.flush_sealed)
            self._check_unchanged(group)
        except BaseException:  # GeneratorExit too: whoever gives up leaves no files behind
            cleaned.remove()
            raise
        self.log.replace_segments([cleaned], group)

    def _fill(
        self, cleaned: Segment, group: Sequence[Segment], transactions: CleanedTransactions
    ) -> Steps:
        transactions.keep_aborted = cleaned.add_aborted
        last_records = self._last_records()
        output = _Output(cleaned, self._config.index_interval_bytes)
        for index, segment in enumerate(group):
            self._check_unchanged(group)
            end = self._end_of(group, index)
            transactions.add(self._aborted_in(segment.base_offset, end))
            for header, batch in self._batches(group, segment, 0):
                verdict = self._verdict(header, batch, transactions, last_records)
                kept: Bytes | None = None
                if verdict.keeps_records or verdict.keeps_header:
                    kept = yield from filter_batch(
                        batch,
                        header,
                        verdict,
                        self._offsets,
                        self._now,
                        self._config.delete_retention_ms,
                    )
                else:
                    yield header.size
                if kept is not None:
                    output.add(kept)
        output.write()
        self.bytes_written += cleaned.size

    def _verdict(
        self,
        header: BatchHeader,
        batch: Bytes,
        transactions: CleanedTransactions,
        last_records: dict[int, tuple[int, int]],
    ) -> Verdict:
        may_drop = transactions.may_drop(header, batch)
        drops = may_drop
        if header.is_control:
            horizon = header.delete_horizon_ms
            drops = may_drop and horizon is not None and horizon <= self._now
        # The last batch of the round says where the log went on.
        keeps_header = header.next_offset == self._first_uncleanable_offset
        last = last_records.get(header.producer_id)
        if header.producer_id >= 0 and last is not None:
            # Its sequence, or else its epoch, is what fences and checks this producer.
            last_offset, epoch = last
            if last_offset >= 0:
                keeps_header = keeps_header or header.last_offset == last_offset
            else:
                keeps_header = keeps_header or (
                    header.is_control and header.producer_epoch == epoch
                )
        return Verdict(not drops, keeps_header, may_drop and header.is_control)

    def _last_records(self) -> dict[int, tuple[int, int]]:
        """(last data offset or -1, epoch) of each active producer."""
        return {
            entry.producer_id: (entry.last_offset, entry.producer_epoch)
            for entry in self.log.producers.active()
        }

    def _wait(self, flush: Callable[[Flushed], None]) -> Steps:
        answers: list[DiskFailed | None] = []

        def flushed(error: DiskFailed | None) -> None:
            answers.append(error)
            self._resume()

        flush(flushed)
        while not answers:
            yield None
        if answers[0] is not None:
            raise answers[0]

    # -- reading

    def _batches(self, group: Sequence[Segment], segment: Segment, position: int) -> Batches:
        """(header, bytes) of each batch of `segment` from `position` on."""
        wanted = _READ_BYTES
        while position < segment.size:
            self._check_unchanged(group)
            chunk = memoryview(segment.file.read(position, wanted))
            end = 0
            for at, header in batches(chunk):
                end = at + header.size
                yield header, chunk[at:end]
            position += end
            self.bytes_read += end
            if end == 0:
                if len(chunk) < HEADER_SIZE or len(chunk) < wanted:
                    raise Corrupt(f"{segment.path(LOG)} ends inside the batch at {position}")
                wanted = read_header(chunk).size
            else:
                wanted = _READ_BYTES

    def _check_unchanged(self, group: Sequence[Segment]) -> None:
        """What was mapped must stay to the end: of a key whose latest record was truncated
        away, an older one is to be kept after all."""
        if self.is_aborted:
            raise Aborted
        segments = self.log.segments
        for segment in (*self._mapped[-1:], *group):
            is_here = segments.at(segments.floor_index(segment.base_offset)) is segment
            seen = self._sizes_seen.setdefault(segment, segment.size)
            # The active one may have been sealed when it was seen first: truncated since.
            if not is_here or segment is segments.active or segment.size != seen:
                raise Aborted

    def _end_of(self, group: Sequence[Segment], index: int) -> int:
        if index + 1 < len(group):
            return group[index + 1].base_offset
        segments = self.log.segments
        end = segments.end_of(segments.floor_index(group[index].base_offset))
        assert end is not None, "the active segment is not cleaned"
        return end

    def _aborted_in(self, start: int, end: int) -> list[AbortedTransaction]:
        segments = self.log.segments.starting_at(start)
        return collect_aborted((segment.aborted for segment in segments), start, end)


class _Output:
    """Batches on their way into a cleaned segment, some at a time."""

    def __init__(self, segment: Segment, index_interval_bytes: int) -> None:
        self._segment = segment
        self._index_interval_bytes = index_interval_bytes
        self._parts: list[Bytes] = []
        self._headers: list[BatchHeader] = []
        self._size = 0

    def add(self, batch: Bytes) -> None:
        self._parts.append(batch)
        self._headers.append(read_header(batch))
        self._size += len(batch)
        if self._size >= _WRITE_BYTES:
            self.write()

    def write(self) -> None:
        if self._parts:
            self._segment.append(self._parts, self._headers, self._index_interval_bytes)
        self._parts, self._headers, self._size = [], [], 0


def _report_nothing(_: AbortedTransaction) -> None:
    """Building the map writes no index."""
