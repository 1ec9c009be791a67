"""Settings of a group (ConfigResource GROUP), each with the broker key that is its default."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int32, string
from kafkapy.broker.config.table.shared_values import NO_THREADS
from kafkapy.broker.config.table.validators import OffsetReset, OneOf, at_least


class GroupConfigKeys(Section):
    consumer_session_timeout_ms = int32(
        45000,
        "How long a consumer may be silent before it is removed.",
        valid=at_least(1),
        broker=("group.consumer.session.timeout.ms",),
    )
    consumer_heartbeat_interval_ms = int32(
        5000,
        "How often a consumer sends a heartbeat.",
        valid=at_least(1),
        broker=("group.consumer.heartbeat.interval.ms",),
    )
    consumer_assignment_interval_ms = int32(
        1000,
        "Least time between two assignments.",
        valid=at_least(0),
        broker=("group.consumer.assignment.interval.ms",),
    )
    consumer_assignor_offload_enable = boolean(
        True,
        "Whether assignments are computed on another thread.",
        internal=True,
        ignored=NO_THREADS,
        broker=("group.consumer.assignor.offload.enable",),
    )
    share_session_timeout_ms = int32(
        45000,
        "How long a share consumer may be silent before it is removed.",
        valid=at_least(1),
        broker=("group.share.session.timeout.ms",),
    )
    share_heartbeat_interval_ms = int32(
        5000,
        "How often a share consumer sends a heartbeat.",
        valid=at_least(1),
        broker=("group.share.heartbeat.interval.ms",),
    )
    share_assignment_interval_ms = int32(
        1000,
        "Least time between two assignments.",
        valid=at_least(0),
        broker=("group.share.assignment.interval.ms",),
    )
    share_assignor_offload_enable = boolean(
        True,
        "Whether assignments are computed on another thread.",
        internal=True,
        ignored=NO_THREADS,
        broker=("group.share.assignor.offload.enable",),
    )
    share_record_lock_duration_ms = int32(
        30000,
        "How long a delivered record is locked for its consumer.",
        valid=at_least(1000),
        broker=("group.share.record.lock.duration.ms",),
    )
    share_delivery_count_limit = int32(
        5,
        "How often a record is delivered before it is given up.",
        valid=at_least(2),
        broker=("group.share.delivery.count.limit",),
    )
    share_partition_max_record_locks = int32(
        2000,
        "Records of a partition that may be locked at once.",
        valid=at_least(100),
        broker=("group.share.partition.max.record.locks",),
    )
    share_auto_offset_reset = string(
        "latest",
        "Where a share group starts: latest, earliest, or by_duration:<ISO 8601 duration> ago.",
        valid=OffsetReset(),
    )
    share_isolation_level = string(
        "read_uncommitted",
        "Whether share consumers see records of open and aborted transactions.",
        valid=OneOf("read_committed", "read_uncommitted"),
    )
    share_renew_acknowledge_enable = boolean(
        True,
        "Whether a share consumer may renew its locks.",
    )
    errors_deadletterqueue_topic_name = string(
        "",
        "Topic to which records of a share group go that are rejected or came too often; "
        "empty for none. With share.version 2 (docs/QUEUES.md).",
        internal=True,
    )
    errors_deadletterqueue_copy_record_enable = boolean(
        False,
        "Whether key and value of a dead letter go along, or only where it was.",
        internal=True,
    )
    streams_session_timeout_ms = int32(
        45000,
        "How long a streams member may be silent before it is removed.",
        valid=at_least(1),
        broker=("group.streams.session.timeout.ms",),
    )
    streams_heartbeat_interval_ms = int32(
        5000,
        "How often a streams member sends a heartbeat.",
        valid=at_least(1),
        broker=("group.streams.heartbeat.interval.ms",),
    )
    streams_assignment_interval_ms = int32(
        1000,
        "Least time between two assignments.",
        valid=at_least(0),
        broker=("group.streams.assignment.interval.ms",),
    )
    streams_assignor_offload_enable = boolean(
        True,
        "Whether assignments are computed on another thread.",
        internal=True,
        ignored=NO_THREADS,
        broker=("group.streams.assignor.offload.enable",),
    )
    streams_num_standby_replicas = int32(
        0,
        "Standby replicas of each task.",
        valid=at_least(0),
        broker=("group.streams.num.standby.replicas",),
    )
    streams_initial_rebalance_delay_ms = int32(
        3000,
        "How long the first rebalance of an empty group waits for members.",
        valid=at_least(0),
        broker=("group.streams.initial.rebalance.delay.ms",),
    )
