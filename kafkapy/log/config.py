"""The topic settings a partition log acts on, typed, with Kafka's defaults.

Plain data: names, ranges and the precedence topic > broker > default are read and judged
in `broker/config`; whoever changes a topic's settings hands the log a whole new LogConfig.
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.protocol.batches.records import Record

FOREVER_MS: Final = 2**63 - 1
UNLIMITED: Final = -1

_DAY_MS: Final = 24 * 60 * 60 * 1000

#: What is wrong with a client's record, as a sentence; Refused if it cannot be told yet.
RecordCheck = Callable[[Record], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Field names are Kafka's topic settings with dots as underscores (formats/settings 1)."""

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * _DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096

    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = UNLIMITED
    file_delete_delay_ms: int = 60_000

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = FOREVER_MS
    delete_retention_ms: int = _DAY_MS

    flush_messages: int = FOREVER_MS
    flush_ms: int = FOREVER_MS

    max_message_bytes: int = 1024 * 1024 + 12
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = FOREVER_MS
    message_timestamp_after_max_ms: int = 60 * 60 * 1000

    min_insync_replicas: int = 1
    unclean_leader_election_enable: bool = False

    #: Beyond what a log itself knows to ask of its records: broker/produce/schema_ids.py.
    record_check: RecordCheck | None = None

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes_old(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def uses_log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def asks_nothing_of_records(self) -> bool:
        """A batch may be judged by its header: log/plain_batch.py."""
        return (
            self.compression_type == "producer"
            and not self.uses_log_append_time
            and self.message_timestamp_before_max_ms == FOREVER_MS
            and not self.is_compacted
            and self.record_check is None
        )

    @property
    def max_segment_age_ms(self) -> int:
        """A compacted topic also rolls for max.compaction.lag.ms: the cleaner leaves the
        active segment alone, so a lag shorter than segment.ms could not be kept."""
        if self.is_compacted:
            return min(self.segment_ms, max(self.max_compaction_lag_ms, 0))
        return self.segment_ms
