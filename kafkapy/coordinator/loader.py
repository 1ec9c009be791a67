"""Replay a shard's partition, as the steps of a job.

The loop serves everybody else between two slices (core/jobs.py), so a large partition
delays nobody but its own groups. `LoadProgress` is what the node shows meanwhile.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from kafkapy.coordinator import batches
from kafkapy.coordinator.shard_log import RecordCodec, ShardLog
from kafkapy.core.data import dataclass
from kafkapy.core.jobs import Steps

Rec = TypeVar("Rec")

READ_BYTES: Final = 1024 * 1024
# To walk, decode and apply a record.
RECORD_COST_US: Final = 20


@dataclass(slots=True)
class LoadProgress:
    """How far the replay is. `unknown` counts records of types we do not know, skipped."""

    offset: int = 0
    end_offset: int = 0
    records: int = 0
    unknown: int = 0


def replay(
    log: ShardLog, codec: RecordCodec[Rec], apply: Callable[[Any], None], progress: LoadProgress
) -> Steps:
    """Apply everything up to the log's end. Retention may move its start meanwhile, past what
    is still to be read: then it goes on from there, as if it had begun a little earlier."""
    progress.offset = log.start_offset
    progress.end_offset = log.end_offset
    while progress.offset < log.end_offset:
        progress.end_offset = log.end_offset
        progress.offset = max(progress.offset, log.start_offset)
        data = log.read(progress.offset, READ_BYTES)
        before = progress.offset
        for found in batches.read(data, codec, progress.offset):
            progress.offset = found.end_offset
            if found.record is not None:
                apply(found.record)
                progress.records += 1
            elif found.is_unknown:
                progress.unknown += 1
            yield RECORD_COST_US
        if progress.offset == before:
            return  # compaction left nothing from here to the end
