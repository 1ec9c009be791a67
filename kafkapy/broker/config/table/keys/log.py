"""Logs of partitions: segments, retention, flushing, compaction. Most are defaults of topics."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, float64, int32, int64, string, strings
from kafkapy.broker.config.table.shared_values import (
    CLUSTER_WIDE,
    HIGH,
    LOW,
    MAX_DOUBLE,
    MAX_LONG,
    NO_RESERVING,
    NO_THREADS,
    NO_TIERS,
    OWN_BUFFERS,
)
from kafkapy.broker.config.table.validators import GzipLevel, ListOf, OneOf, at_least, between


class LogKeys(Section):
    message_max_bytes = int32(
        1048588,
        "Largest record batch, compressed, that is accepted.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    compression_type = string(
        "producer",
        "Codec that batches are stored with; producer keeps what was sent.",
        valid=OneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    compression_gzip_level = int32(
        -1,
        "Level where the broker compresses with gzip.",
        valid=GzipLevel(),
        dynamic=CLUSTER_WIDE,
    )
    compression_lz4_level = int32(
        9,
        "Level where the broker compresses with lz4.",
        valid=between(1, 17),
        dynamic=CLUSTER_WIDE,
    )
    compression_zstd_level = int32(
        3,
        "Level where the broker compresses with zstd.",
        valid=between(-131072, 22),
        dynamic=CLUSTER_WIDE,
    )
    log_segment_bytes = int32(
        1073741824,
        "Size at which a partition starts a new segment.",
        valid=at_least(1048576),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_segment_delete_delay_ms = int64(
        60000,
        "How long a segment's files stay on disk after the segment left the log.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_roll_ms = int64(
        None,
        "Age at which a segment is closed even if it is not full; log.roll.hours if unset.",
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_roll_hours = int32(
        168,
        "Age in hours at which a segment is closed, where log.roll.ms is unset.",
        valid=at_least(1),
        importance=HIGH,
    )
    log_roll_jitter_ms = int64(
        None,
        "Random span that is taken off the age of a segment, so that not all roll at "
        "once; log.roll.jitter.hours if unset.",
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_roll_jitter_hours = int32(
        0,
        "Random span in hours that is taken off the age of a segment, where "
        "log.roll.jitter.ms is unset.",
        valid=at_least(0),
        importance=HIGH,
    )
    log_retention_ms = int64(
        None,
        "How long records are kept, -1 for ever; log.retention.minutes if unset.",
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_retention_minutes = int32(
        None,
        "How many minutes records are kept; log.retention.hours if unset.",
        importance=HIGH,
    )
    log_retention_hours = int32(
        168,
        "How many hours records are kept.",
        importance=HIGH,
    )
    log_retention_bytes = int64(
        -1,
        "Size of a partition above which its oldest segments are deleted; -1 for no limit.",
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_retention_check_interval_ms = int64(
        300000,
        "How often logs are checked for segments to delete.",
        valid=at_least(1),
    )
    log_cleanup_policy = strings(
        ("delete",),
        "What happens to old records: delete, compact, both, or with an empty list nothing.",
        valid=ListOf(("compact", "delete"), may_be_empty=True),
        dynamic=CLUSTER_WIDE,
    )
    log_index_interval_bytes = int32(
        4096,
        "Bytes between two entries of the offset index.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_index_size_max_bytes = int32(
        10485760,
        "Largest size of an index; a full index rolls the segment.",
        valid=at_least(4),
        dynamic=CLUSTER_WIDE,
    )
    log_flush_interval_messages = int64(
        MAX_LONG,
        "Records after which a log is flushed to disk.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_flush_interval_ms = int64(
        None,
        "How long a record may wait to be flushed; log.flush.scheduler.interval.ms if unset.",
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    log_flush_scheduler_interval_ms = int64(
        MAX_LONG,
        "How often logs are checked for records that waited too long to be flushed.",
        importance=HIGH,
    )
    log_flush_offset_checkpoint_interval_ms = int32(
        60000,
        "How often the recovery points of the logs are written.",
        valid=at_least(0),
        importance=HIGH,
    )
    log_flush_start_offset_checkpoint_interval_ms = int32(
        60000,
        "How often the start offsets of the logs are written.",
        valid=at_least(0),
        importance=HIGH,
    )
    log_preallocate = boolean(
        False,
        "Whether the space of a new segment is reserved.",
        dynamic=CLUSTER_WIDE,
        ignored=NO_RESERVING,
    )
    log_message_timestamp_type = string(
        "CreateTime",
        "Whether a record carries its producer's time or the time of its append.",
        valid=OneOf("CreateTime", "LogAppendTime"),
        dynamic=CLUSTER_WIDE,
    )
    log_message_timestamp_before_max_ms = int64(
        MAX_LONG,
        "How far a record's timestamp may lie before the broker's time.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_message_timestamp_after_max_ms = int64(
        3600000,
        "How far a record's timestamp may lie after the broker's time.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_dir_failure_timeout_ms = int64(
        30000,
        "How long a broker waits for the controller to take note of a failed log "
        "directory before it stops.",
        valid=at_least(1),
        importance=LOW,
        ignored="A broker goes on with its other directories, and tells of it in every heartbeat.",
    )
    num_recovery_threads_per_data_dir = int32(
        2,
        "Threads for a directory's recovery at start and flushing at stop.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
        ignored=NO_THREADS,
    )
    num_replica_alter_log_dirs_threads = int32(
        None,
        "Threads that move replicas between log directories.",
        importance=HIGH,
        ignored=NO_THREADS,
    )
    log_initial_task_delay_ms = int64(
        30000,
        "How long after start the first periodic tasks on logs run.",
        valid=at_least(0),
        internal=True,
    )
    log_cleaner_enable = boolean(
        True,
        "Whether logs are compacted; false stops it for every topic.",
    )
    log_cleaner_threads = int32(
        1,
        "Threads that compact logs.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
        ignored=NO_THREADS,
    )
    log_cleaner_io_max_bytes_per_second = float64(
        MAX_DOUBLE,
        "Bytes in a second that compaction reads and writes.",
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_dedupe_buffer_size = int64(
        134217728,
        "Memory for the keys of the logs under compaction.",
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_size = int32(
        524288,
        "Memory of the cleaner's buffers for reading and writing.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
        ignored=OWN_BUFFERS,
    )
    log_cleaner_io_buffer_load_factor = float64(
        0.9,
        "How full the map of keys may become.",
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_backoff_ms = int64(
        15000,
        "How long the cleaner sleeps when nothing is to be compacted.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_min_cleanable_ratio = float64(
        0.5,
        "Share of a log that must be dirty before it is compacted.",
        valid=between(0, 1),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_delete_retention_ms = int64(
        86400000,
        "How long the marker of a deleted key stays in a compacted log.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_min_compaction_lag_ms = int64(
        0,
        "How long a record is safe from compaction.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    log_cleaner_max_compaction_lag_ms = int64(
        MAX_LONG,
        "How long a record may wait for compaction.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
    )
    min_insync_replicas = int32(
        1,
        "Replicas that must have a record before acks=all is answered.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    producer_id_expiration_ms = int32(
        86400000,
        "How long a partition remembers a producer that is silent.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=LOW,
    )
    producer_id_expiration_check_interval_ms = int32(
        600000,
        "How often silent producers are looked for.",
        valid=at_least(1),
        internal=True,
    )
    log_local_retention_ms = int64(
        -2,
        "How long a segment stays on local disk after it was uploaded; -2 as long as "
        "log.retention.ms.",
        valid=at_least(-2),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    log_local_retention_bytes = int64(
        -2,
        "Size that uploaded segments may take on local disk; -2 as much as log.retention.bytes.",
        valid=at_least(-2),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
