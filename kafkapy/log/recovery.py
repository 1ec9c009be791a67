"""Opening a partition directory: finish what was begun, then believe or check (formats/log 11).

    *.deleted *.cleaned         removed
    *.swap                      a cleaning that was done: takes the place of what it covers
    clean shutdown              file sizes are believed, nothing is read until it is needed,
                                but for what there is of transaction indexes
    otherwise                   from the recovery point on every batch is checked (CRC,
                                sizes, offsets) and indexed; the log ends at the first bad
                                one, and what came behind it is removed

After a crash the log is some prefix of what was appended, and at least what was flushed.

Segments follow each other without a hole, so one between two of them is the lost end of the
first; unless a cleaner was here. Ours cleans below the recovery point, but a follower copies
what its leader's has left, and a follower of Kafka's names a segment by its first batch, so that
a gap may fall between two. The topic may have changed its policy since; the batches tell: a gap
among those of one segment, or a record missing in one, is no crash's doing.
"""

from collections.abc import Iterator
from dataclasses import replace
from struct import Struct
from typing import Final
from zlib import crc32

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Disk
from kafkapy.core.time import Instant
from kafkapy.log.aborted import aborted_by, rebuild_bad_indexes
from kafkapy.log.config import LogConfig
from kafkapy.log.leader_epochs import LeaderEpochs
from kafkapy.log.names import (
    CLEANED,
    DELETED,
    LOG,
    OFFSET_INDEX,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    OffsetFile,
    offset_file,
    parse_offset_file,
)
from kafkapy.log.producers.producer_state import ProducerStates
from kafkapy.log.producers.snapshots import ProducerSnapshots, replay
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.segments import Segments
from kafkapy.protocol.batches.batch import LOG_OVERHEAD, BatchHeader, UnsupportedMagic, crc_is_valid

MAX_RELATIVE_OFFSET: Final = 2**31 - 1
_OLD_HEAD: Final = Struct(">qiI")
_SMALLEST_OLD_MESSAGE: Final = 14  # CRC, magic, attributes, two lengths of nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is asked of a load."""

    disk: Disk
    directory: str
    topic_partition: TopicPartition
    config: LogConfig
    now: Instant
    is_clean: bool
    recovery_point: int
    log_start_offset: int
    producer_expiry_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What a load found and did, for one line of the journal."""

    is_clean: bool
    segments: int
    checked_segments: int = 0
    checked_bytes: int = 0
    truncated_bytes: int = 0
    removed_segments: int = 0
    rebuilt_indexes: int = 0
    # Where the first hole between two checked segments begins that was left: the cleaner's,
    # or the lost end of a segment.
    hole_at: int | None = None

    @property
    def is_notable(self) -> bool:
        return bool(self.truncated_bytes or self.removed_segments or self.rebuilt_indexes)


@dataclass(slots=True, kw_only=True)
class Loaded:
    """A log's parts. `epochs` and `producers` are None where nothing had to be read yet."""

    segments: Segments
    snapshots: ProducerSnapshots
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    epochs: LeaderEpochs | None
    producers: ProducerStates | None
    recovered: Recovered


def load(opening: Opening) -> Loaded:
    disk, directory = opening.disk, opening.directory
    files = _finish_renames(disk, directory)
    snapshots = ProducerSnapshots(
        disk, directory, (file.offset for file in files if file[1:] == (SNAPSHOT, ""))
    )
    segments, rebuilt = _open_segments(opening, files)
    recovered = Recovered(
        is_clean=opening.is_clean, segments=len(segments), rebuilt_indexes=rebuilt
    )
    first_base = segments[0].base_offset
    loaded = Loaded(
        segments=Segments(segments),
        snapshots=snapshots,
        log_start_offset=max(opening.log_start_offset, first_base),
        log_end_offset=0,
        recovery_point=0,
        epochs=None,
        producers=None,
        recovered=recovered,
    )
    if opening.is_clean:
        try:
            loaded.log_end_offset = _clean_end(opening, loaded)
        except Corrupt:
            # Not as it was left. What was sealed before is believed still.
            base_offset = loaded.segments.active.base_offset
            opening = replace(opening, is_clean=False, recovery_point=base_offset)
            loaded.recovered = replace(recovered, is_clean=False)
    believed = set(loaded.segments)
    if not opening.is_clean:
        believed -= set(_unchecked(opening, loaded.segments))
        _recover(opening, loaded)
    _check_transaction_indexes(opening, loaded, believed)
    if loaded.log_end_offset < loaded.log_start_offset:
        _start_over(opening, loaded)
    loaded.recovery_point = (
        loaded.log_end_offset
        if opening.is_clean
        else min(opening.recovery_point, loaded.log_end_offset)
    )
    snapshots.remove_above(loaded.log_end_offset)
    snapshots.remove_strays(segment.base_offset for segment in loaded.segments)
    if not loaded.segments.size:
        _drop_what_is_read_again(loaded)
    return loaded


def _drop_what_is_read_again(loaded: Loaded) -> None:
    """Of an empty log, what was read to recover it is read again should anybody ask: most of
    ten thousand partitions may be empty."""
    loaded.producers = None
    if loaded.epochs is not None and loaded.epochs.is_saved:
        loaded.epochs = None


def load_producers(
    states: ProducerStates,
    snapshots: ProducerSnapshots,
    segments: Segments,
    log_start_offset: int,
    end_offset: int,
    now: Instant,
) -> None:
    """Make `states` what the log says at `end_offset`."""
    states.reset(log_start_offset)
    snapshots.load(states, end_offset, log_start_offset, now)
    replay(states, segments, end_offset)


# -- what a crash left half done


def _finish_renames(disk: Disk, directory: str) -> list[OffsetFile]:
    """Remove what was to go, put in place what was to come; the offset files left."""
    files = []
    for name in disk.list(directory):
        file = parse_offset_file(name)
        if file is None:
            continue
        if file.state in (DELETED, ".tmp") and file.suffix != ".checkpoint":
            disk.remove(f"{directory}/{name}")
        else:
            files.append(file)
    cleaned = [file for file in files if file.state == CLEANED]
    swaps = [file for file in files if file.state == SWAP]
    if not cleaned and not swaps:
        return files
    # A cleaning that was under way when segments were to be split: its swaps are void.
    first_cleaned = min((file.offset for file in cleaned), default=None)
    void = [swap for swap in swaps if first_cleaned is not None and swap.offset >= first_cleaned]
    for file in (*cleaned, *void):
        disk.remove(_path(directory, file))
    swaps = [swap for swap in swaps if swap not in void]
    regular = [file for file in files if file.state == ""]
    return _put_in_place(disk, directory, swaps, regular)


def _put_in_place(
    disk: Disk, directory: str, swaps: list[OffsetFile], regular: list[OffsetFile]
) -> list[OffsetFile]:
    logs = [swap for swap in swaps if swap.suffix == LOG]
    if logs:
        first = min(swap.offset for swap in logs)
        end = max(_end_of_swap(disk, directory, swap) for swap in logs)
        covered = {
            file
            for file in regular
            if file.suffix in SEGMENT_SUFFIXES and first <= file.offset < end
        }
        for file in sorted(covered):
            disk.remove(_path(directory, file))
        regular = [file for file in regular if file not in covered]
    for swap in swaps:
        disk.rename(_path(directory, swap), _path(directory, swap._replace(state="")))
        placed = swap._replace(state="")
        if placed not in regular:
            regular.append(placed)
    return regular


def _end_of_swap(disk: Disk, directory: str, swap: OffsetFile) -> int:
    segment = Segment(
        disk,
        directory,
        swap.offset,
        size=disk.size(_path(directory, swap)),
        created=Instant(0),
        has_transaction_index=False,
        state=SWAP,
    )
    try:
        segment.start_indexes()
        return segment.read_next_offset()
    finally:
        segment.close()


def _path(directory: str, file: OffsetFile) -> str:
    return f"{directory}/{offset_file(*file)}"


# -- segments


def _open_segments(opening: Opening, files: list[OffsetFile]) -> tuple[list[Segment], int]:
    """All segments (a first one if there is none), and how many had no index."""
    disk, directory = opening.disk, opening.directory
    present: dict[int, set[str]] = {}
    for file in files:
        if file.suffix in SEGMENT_SUFFIXES and file.state == "":
            present.setdefault(file.offset, set()).add(file.suffix)
    segments, lacking = [], []
    for base_offset, suffixes in sorted(present.items()):
        if LOG not in suffixes:
            for suffix in sorted(suffixes):
                disk.remove(_path(directory, OffsetFile(base_offset, suffix, "")))
            continue
        segment = Segment(
            disk,
            directory,
            base_offset,
            size=disk.size(_path(directory, OffsetFile(base_offset, LOG, ""))),
            created=opening.now,
            has_transaction_index=TRANSACTION_INDEX in suffixes,
        )
        segments.append(segment)
        if not {OFFSET_INDEX, TIME_INDEX} <= suffixes:
            lacking.append(segment)
    if not segments:
        segments.append(Segment.create(disk, directory, opening.log_start_offset, opening.now))
    for segment in lacking:
        if opening.is_clean or segment not in _unchecked(opening, Segments(segments)):
            segment.rebuild_indexes(opening.config.index_interval_bytes)
            segment.seal()
    return segments, len(lacking)


def _clean_end(opening: Opening, loaded: Loaded) -> int:
    """Where the log ends: two files that agree are believed, else the segment is asked."""
    active = loaded.segments.active
    if active.size == 0:
        return active.base_offset
    if opening.recovery_point == loaded.snapshots.latest > active.base_offset:
        return opening.recovery_point
    return active.read_next_offset()


def _start_over(opening: Opening, loaded: Loaded) -> None:
    """All that is here was deleted for its age or on request: begin at the log start."""
    for segment in loaded.segments:
        segment.remove()
    start = loaded.log_start_offset
    first = Segment.create(opening.disk, opening.directory, start, opening.now)
    loaded.segments = Segments([first])
    loaded.log_end_offset = start
    loaded.epochs = loaded.epochs or LeaderEpochs(opening.disk, opening.directory)
    loaded.epochs.clear()
    loaded.producers = None


def _check_transaction_indexes(opening: Opening, loaded: Loaded, believed: set[Segment]) -> None:
    """Of the segments that are not read otherwise."""

    def states_at(offset: int) -> ProducerStates:
        states = ProducerStates(opening.topic_partition, expiry_ms=opening.producer_expiry_ms)
        start = loaded.log_start_offset
        load_producers(states, loaded.snapshots, loaded.segments, start, offset, opening.now)
        return states

    found = loaded.recovered
    rebuilt = rebuild_bad_indexes((one for one in loaded.segments if one in believed), states_at)
    loaded.recovered = replace(found, rebuilt_indexes=found.rebuilt_indexes + rebuilt)


# -- after a crash


def _recover(opening: Opening, loaded: Loaded) -> None:
    """Check the segments from the recovery point on."""
    segments, snapshots = loaded.segments, loaded.snapshots
    epochs = loaded.epochs = LeaderEpochs(opening.disk, opening.directory)
    producers = loaded.producers = ProducerStates(
        opening.topic_partition,
        expiry_ms=opening.producer_expiry_ms,
        end_offset=loaded.log_start_offset,
    )
    unchecked = _unchecked(opening, segments)
    start = unchecked[0].base_offset
    load_producers(producers, snapshots, segments, loaded.log_start_offset, start, opening.now)
    # Epochs from here on are what the batches say: the file may be ahead of the log, or
    # tell of a truncation that did not last.
    epochs.truncate_from_end(start)
    expected = start
    checked_bytes = truncated_bytes = 0
    hole_at = None
    for count, segment in enumerate(unchecked):
        is_hole = segment.base_offset > max(expected, opening.recovery_point)
        is_lost_end = is_hole and hole_at is None and not _was_compacted(opening, unchecked)
        if segment.base_offset < expected or is_lost_end:
            # The end of the segment before was lost (between two batches), or is back after
            # a truncation that did not last.
            _remove(segments, unchecked[count:])
            break
        if is_hole and hole_at is None:
            hole_at = expected
        expected = max(expected, segment.base_offset)
        if expected > loaded.log_start_offset:
            snapshots.take_missing(producers, expected)
        before = segment.size
        expected = recover_segment(segment, opening.config, expected, epochs, producers)
        checked_bytes += before
        if segment.size < before:
            truncated_bytes += before - segment.size
            _remove(segments, unchecked[count + 1 :])
            break
    loaded.log_end_offset = expected
    epochs.truncate_from_start(loaded.log_start_offset)
    producers.end_offset = expected
    loaded.recovered = replace(
        loaded.recovered,
        segments=len(segments),
        checked_segments=len(unchecked),
        checked_bytes=checked_bytes,
        truncated_bytes=truncated_bytes,
        removed_segments=loaded.recovered.segments - len(segments),
        hole_at=hole_at,
    )


def _unchecked(opening: Opening, segments: Segments) -> list[Segment]:
    """What may be torn, and is indexed as it is checked."""
    return segments.starting_at(opening.recovery_point)


def _was_compacted(opening: Opening, segments: list[Segment]) -> bool:
    """Whether a gap between segments may be a cleaner's. Asked only once there is one, so that
    these segments are read twice then and never else."""
    if opening.config.is_compacted:
        return True
    for segment in segments:
        expected = segment.base_offset
        for _, header, _ in _good_batches(segment, expected):
            is_whole = header.record_count == header.last_offset_delta + 1
            if header.base_offset > expected or not is_whole:
                return True
            expected = header.next_offset
    return False


def _remove(segments: Segments, doomed: list[Segment]) -> None:
    segments.replace([], doomed)
    for segment in reversed(doomed):
        segment.remove()


def recover_segment(
    segment: Segment,
    config: LogConfig,
    expected: int,
    epochs: LeaderEpochs,
    producers: ProducerStates,
) -> int:
    """Check and index all of a segment, cut off what is not good; the offset after it."""
    segment.start_indexes()
    aborted = []
    end = 0
    for position, header, batch in _good_batches(segment, expected):
        segment.note(header, position, config.index_interval_bytes)
        if header.leader_epoch > epochs.latest:
            epochs.assign(header.leader_epoch, header.base_offset)
        completed = producers.update(header, batch)
        if completed is not None and completed.is_aborted:
            aborted.append(aborted_by(completed))
        expected = header.next_offset
        end = position + header.size
    if end < segment.size:
        segment.file.truncate(end)
        segment.size = end
    segment.reset_aborted(aborted)
    segment.seal()
    # A clean shutdown must leave a producer snapshot at the end, even without new data.
    segment.is_modified = segment.size > 0
    return expected


def _good_batches(segment: Segment, expected: int) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    end = 0
    try:
        for position, header, batch in segment.walk():
            is_good = (
                header.base_offset >= expected
                and header.last_offset_delta >= 0
                and header.last_offset - segment.base_offset <= MAX_RELATIVE_OFFSET
                and crc_is_valid(batch, 0, header)
            )
            if not is_good:
                return
            expected = header.next_offset
            end = position + header.size
            yield position, header, batch
    except UnsupportedMagic as error:
        if _holds_old_message(segment, end):
            # Written by a Kafka of long ago: whole, but not for us to cut off.
            raise DiskFailed(segment.path(LOG), f"{error} is not supported") from error
    except Corrupt:
        return


def _holds_old_message(segment: Segment, position: int) -> bool:
    """Whether there is a message of magic 0 or 1 (and not, say, zeros that a crash left):
    i64 offset, i32 size, u32 CRC-32 of what follows."""
    head = segment.file.read(position, _OLD_HEAD.size)
    if len(head) < _OLD_HEAD.size:
        return False
    _, size, crc = _OLD_HEAD.unpack(head)
    if size < _SMALLEST_OLD_MESSAGE or position + LOG_OVERHEAD + size > segment.size:
        return False
    return crc32(segment.file.read(position + _OLD_HEAD.size, size - 4)) == int(crc)
