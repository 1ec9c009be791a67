"""Which log to clean next, and between which offsets (formats/log 13).

    log start      first dirty            first uncleanable              end
    |---- clean ----|------ cleanable ------|---- too new ----| active ----|

The log with the highest share of dirty bytes goes first, once that share exceeds
min.cleanable.dirty.ratio; or sooner, when max.compaction.lag.ms says it must.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kafkapy.core.time import Instant
from kafkapy.log.cleaning.round import CleanableLog
from kafkapy.log.segments.segment import Segment


class Candidate(NamedTuple):
    """Between which offsets a log can be cleaned, and how much it needs it."""

    log: CleanableLog
    first_dirty_offset: int
    first_uncleanable_offset: int  # the base of a segment: segments are cleaned whole
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_due(self) -> bool:
        if self.cleanable_bytes == 0:
            return False
        return self.is_overdue or self.cleanable_ratio > self.log.config.min_cleanable_dirty_ratio


def filthiest(candidates: Iterable[Candidate]) -> Candidate | None:
    """The one to clean next, if any is due."""
    due = [candidate for candidate in candidates if candidate.is_due]
    return max(due, key=lambda candidate: candidate.cleanable_ratio, default=None)


def assess(log: CleanableLog, checkpoint: int, now: Instant) -> Candidate:
    first_dirty = first_dirty_offset(log, checkpoint)
    segments = log.segments
    uncleanable = _first_uncleanable_offset(log, first_dirty, now)
    uncleanable = segments.at(segments.floor_index(uncleanable)).base_offset
    begin = segments.at(segments.floor_index(min(first_dirty, uncleanable))).base_offset
    sealed = segments.sealed
    return Candidate(
        log,
        first_dirty,
        uncleanable,
        sum(segment.size for segment in sealed if segment.base_offset < first_dirty),
        sum(segment.size for segment in sealed if begin <= segment.base_offset < uncleanable),
        _is_overdue(log, first_dirty, now),
    )


def first_dirty_offset(log: CleanableLog, checkpoint: int) -> int:
    """A checkpoint outside the log says nothing (it was truncated, or lost its end): begin
    at the start then."""
    if log.log_start_offset <= checkpoint <= log.log_end_offset:
        return checkpoint
    return log.log_start_offset


def _first_uncleanable_offset(log: CleanableLog, first_dirty: int, now: Instant) -> int:
    """Undecided transactions, the active segment, and what is younger than
    min.compaction.lag.ms stay as they are; never below `first_dirty`."""
    uncleanable = min(log.last_stable_offset, log.segments.active.base_offset)
    lag_ms = max(log.config.min_compaction_lag_ms, 0)
    if lag_ms:
        for segment in _dirty(log, first_dirty):
            if segment.largest_timestamp > now - lag_ms:
                uncleanable = min(uncleanable, segment.base_offset)
                break
    return max(first_dirty, uncleanable)


def _is_overdue(log: CleanableLog, first_dirty: int, now: Instant) -> bool:
    clean_until = now - max(log.config.max_compaction_lag_ms, 0)
    if clean_until <= 0:
        return False
    return any(0 < segment.first_timestamp < clean_until for segment in _dirty(log, first_dirty))


def _dirty(log: CleanableLog, first_dirty: int) -> list[Segment]:
    segments = log.segments
    return [s for s in segments.starting_at(first_dirty) if s is not segments.active]
