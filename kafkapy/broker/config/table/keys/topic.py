"""Settings of a topic (ConfigResource TOPIC), each with the broker key that is its default."""

from kafkapy.broker.config.table.keys.hooks import HookTopicKeys
from kafkapy.broker.config.table.keys.queues import QueueTopicKeys
from kafkapy.broker.config.table.keys.relays import RelayKeys
from kafkapy.broker.config.table.keys.schemas import SchemaKeys
from kafkapy.broker.config.table.keys.views import ViewKeys
from kafkapy.broker.config.table.make import boolean, float64, int32, int64, string, strings
from kafkapy.broker.config.table.shared_values import MAX_LONG, NO_RESERVING, NO_TIERS
from kafkapy.broker.config.table.validators import (
    GzipLevel,
    ListOf,
    OneOf,
    ThrottledReplicas,
    at_least,
    between,
)


class TopicKeys(SchemaKeys, QueueTopicKeys, RelayKeys, ViewKeys, HookTopicKeys):
    cleanup_policy = strings(
        ("delete",),
        "What happens to old records: delete, compact, both, or with an empty list nothing.",
        valid=ListOf(("compact", "delete"), may_be_empty=True),
        broker=("log.cleanup.policy",),
    )
    compression_type = string(
        "producer",
        "Codec that batches are stored with; producer keeps what was sent.",
        valid=OneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        broker=("compression.type",),
    )
    compression_gzip_level = int32(
        -1,
        "Level where the broker compresses with gzip.",
        valid=GzipLevel(),
        broker=("compression.gzip.level",),
    )
    compression_lz4_level = int32(
        9,
        "Level where the broker compresses with lz4.",
        valid=between(1, 17),
        broker=("compression.lz4.level",),
    )
    compression_zstd_level = int32(
        3,
        "Level where the broker compresses with zstd.",
        valid=between(-131072, 22),
        broker=("compression.zstd.level",),
    )
    delete_retention_ms = int64(
        86400000,
        "How long the marker of a deleted key stays in a compacted topic.",
        valid=at_least(0),
        broker=("log.cleaner.delete.retention.ms",),
    )
    errors_deadletterqueue_group_enable = boolean(
        False,
        "Whether share groups may send their dead letters to this topic.",
        internal=True,
    )
    file_delete_delay_ms = int64(
        60000,
        "How long a segment's files stay on disk after the segment left the log.",
        valid=at_least(0),
        broker=("log.segment.delete.delay.ms",),
    )
    flush_messages = int64(
        MAX_LONG,
        "Records after which a log is flushed to disk.",
        valid=at_least(1),
        broker=("log.flush.interval.messages",),
    )
    flush_ms = int64(
        MAX_LONG,
        "How long a record may wait to be flushed.",
        valid=at_least(0),
        broker=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas = strings(
        (),
        "Replicas whose fetching is throttled, as <partition>:<broker>, or * for all.",
        valid=ThrottledReplicas("follower.replication.throttled.replicas"),
    )
    index_interval_bytes = int32(
        4096,
        "Bytes between two entries of the offset index.",
        valid=at_least(0),
        broker=("log.index.interval.bytes",),
    )
    leader_replication_throttled_replicas = strings(
        (),
        "Replicas that are served throttled, as <partition>:<broker>, or * for all.",
        valid=ThrottledReplicas("leader.replication.throttled.replicas"),
    )
    local_retention_bytes = int64(
        -2,
        "Size that uploaded segments may take on local disk; -2 as much as retention.bytes.",
        valid=at_least(-2),
        ignored=NO_TIERS,
        broker=("log.local.retention.bytes",),
    )
    local_retention_ms = int64(
        -2,
        "How long a segment stays on local disk after it was uploaded; -2 as long as retention.ms.",
        valid=at_least(-2),
        ignored=NO_TIERS,
        broker=("log.local.retention.ms",),
    )
    max_compaction_lag_ms = int64(
        MAX_LONG,
        "How long a record may wait for compaction.",
        valid=at_least(1),
        broker=("log.cleaner.max.compaction.lag.ms",),
    )
    max_message_bytes = int32(
        1048588,
        "Largest record batch, compressed, that is accepted.",
        valid=at_least(0),
        broker=("message.max.bytes",),
    )
    message_timestamp_after_max_ms = int64(
        3600000,
        "How far a record's timestamp may lie after the broker's time.",
        valid=at_least(0),
        broker=("log.message.timestamp.after.max.ms",),
    )
    message_timestamp_before_max_ms = int64(
        MAX_LONG,
        "How far a record's timestamp may lie before the broker's time.",
        valid=at_least(0),
        broker=("log.message.timestamp.before.max.ms",),
    )
    message_timestamp_type = string(
        "CreateTime",
        "Whether a record carries its producer's time or the time of its append.",
        valid=OneOf("CreateTime", "LogAppendTime"),
        broker=("log.message.timestamp.type",),
    )
    min_cleanable_dirty_ratio = float64(
        0.5,
        "Share of a log that must be dirty before it is compacted.",
        valid=between(0, 1),
        broker=("log.cleaner.min.cleanable.ratio",),
    )
    min_compaction_lag_ms = int64(
        0,
        "How long a record is safe from compaction.",
        valid=at_least(0),
        broker=("log.cleaner.min.compaction.lag.ms",),
    )
    min_insync_replicas = int32(
        1,
        "Replicas that must have a record before acks=all is answered.",
        valid=at_least(1),
        broker=("min.insync.replicas",),
    )
    preallocate = boolean(
        False,
        "Whether the space of a new segment is reserved.",
        ignored=NO_RESERVING,
        broker=("log.preallocate",),
    )
    remote_log_copy_disable = boolean(
        False,
        "Whether uploading stops while what was uploaded stays readable.",
        ignored=NO_TIERS,
    )
    remote_log_delete_on_disable = boolean(
        False,
        "Whether what was uploaded is deleted when tiered storage is switched off.",
        ignored=NO_TIERS,
    )
    remote_storage_enable = boolean(
        False,
        "Whether segments are uploaded.",
    )
    retention_bytes = int64(
        -1,
        "Size of a partition above which its oldest segments are deleted; -1 for no limit.",
        broker=("log.retention.bytes",),
    )
    retention_ms = int64(
        604800000,
        "How long records are kept; -1 for ever.",
        valid=at_least(-1),
        broker=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    segment_bytes = int32(
        1073741824,
        "Size at which a partition starts a new segment.",
        valid=at_least(1048576),
        broker=("log.segment.bytes",),
    )
    segment_index_bytes = int32(
        10485760,
        "Largest size of an index; a full index rolls the segment.",
        valid=at_least(4),
        broker=("log.index.size.max.bytes",),
    )
    segment_jitter_ms = int64(
        0,
        "Random span that is taken off the age of a segment, so that not all roll at once.",
        valid=at_least(0),
        broker=("log.roll.jitter.ms", "log.roll.jitter.hours"),
    )
    segment_ms = int64(
        604800000,
        "Age at which a segment is closed even if it is not full.",
        valid=at_least(1),
        broker=("log.roll.ms", "log.roll.hours"),
    )
    unclean_leader_election_enable = boolean(
        False,
        "Whether a replica that may lack records can become leader when no other is left.",
        broker=("unclean.leader.election.enable",),
    )
    internal_segment_bytes = int32(
        None,
        "Overrides segment.bytes, without its lower bound.",
        internal=True,
    )
