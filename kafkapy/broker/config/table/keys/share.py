"""Share groups and the share coordinator."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int16, int32, string, strings
from kafkapy.broker.config.table.shared_values import (
    CLUSTER_WIDE,
    HIGH,
    NO_JAVA,
    NO_LINGER,
    NO_THREADS,
    OWN_BUFFERS,
    SNAPSHOTS_ALL,
)
from kafkapy.broker.config.table.validators import ListOf, at_least, between


class DeadLetterKeys(Section):
    """Of Apache Kafka 4.4 (KIP-1191); 4.3.1 knows none of them."""

    errors_deadletterqueue_auto_create_topics_enable = boolean(
        False,
        "Whether the dead letter topic of a share group is made if it is not there.",
        dynamic=CLUSTER_WIDE,
    )
    errors_deadletterqueue_topic_name_prefix = string(
        "dlq.",
        "What the names of share groups' dead letter topics begin with; empty for anything.",
        dynamic=CLUSTER_WIDE,
    )


class ShareKeys(Section):
    group_share_session_timeout_ms = int32(
        45000,
        "How long a member of a share group may be silent before it is removed.",
        valid=at_least(1),
    )
    group_share_min_session_timeout_ms = int32(
        45000,
        "Shortest session timeout that can be set for a share group.",
        valid=at_least(1),
    )
    group_share_max_session_timeout_ms = int32(
        60000,
        "Longest session timeout that can be set for a share group.",
        valid=at_least(1),
    )
    group_share_heartbeat_interval_ms = int32(
        5000,
        "How often a member of a share group sends a heartbeat.",
        valid=at_least(1),
    )
    group_share_min_heartbeat_interval_ms = int32(
        5000,
        "Shortest heartbeat interval that can be set for a share group.",
        valid=at_least(1),
    )
    group_share_max_heartbeat_interval_ms = int32(
        15000,
        "Longest heartbeat interval that can be set for a share group.",
        valid=at_least(1),
    )
    group_share_assignment_interval_ms = int32(
        1000,
        "Least time between two assignments of a share group.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    group_share_min_assignment_interval_ms = int32(
        0,
        "Shortest assignment interval that can be set for a share group.",
        valid=at_least(0),
    )
    group_share_max_assignment_interval_ms = int32(
        15000,
        "Longest assignment interval that can be set for a share group.",
        valid=at_least(0),
    )
    group_share_assignors = strings(
        ("simple",),
        "Assignors of share groups; exactly one.",
        valid=ListOf(),
    )
    group_share_assignor_offload_enable = boolean(
        True,
        "Whether assignments of share groups are computed on another thread.",
        internal=True,
        ignored=NO_THREADS,
    )
    group_share_max_size = int32(
        200,
        "Members that a share group may have.",
        valid=between(1, 1000),
    )
    group_share_max_share_sessions = int32(
        2000,
        "Share sessions that the broker keeps.",
        valid=at_least(1),
    )
    group_share_delivery_count_limit = int32(
        5,
        "How often a record is delivered before it is given up.",
        valid=between(2, 10),
    )
    group_share_min_delivery_count_limit = int32(
        2,
        "Smallest delivery limit that can be set for a share group.",
        valid=between(2, 5),
    )
    group_share_max_delivery_count_limit = int32(
        10,
        "Largest delivery limit that can be set for a share group.",
        valid=between(5, 25),
    )
    group_share_record_lock_duration_ms = int32(
        30000,
        "How long a delivered record is locked for its consumer.",
        valid=between(1000, 3600000),
    )
    group_share_min_record_lock_duration_ms = int32(
        15000,
        "Shortest lock that can be set for a share group.",
        valid=between(1000, 30000),
    )
    group_share_max_record_lock_duration_ms = int32(
        60000,
        "Longest lock that can be set for a share group.",
        valid=between(30000, 3600000),
    )
    group_share_partition_max_record_locks = int32(
        2000,
        "Records of a partition that may be locked at once.",
        valid=between(100, 10000),
    )
    group_share_min_partition_max_record_locks = int32(
        100,
        "Smallest limit on locks that can be set for a share group.",
        valid=between(100, 2000),
    )
    group_share_max_partition_max_record_locks = int32(
        4000,
        "Largest limit on locks that can be set for a share group.",
        valid=between(2000, 10000),
    )
    group_share_initialize_retry_interval_ms = int32(
        30000,
        "How soon the set-up of a share group's partitions is tried again.",
        valid=at_least(1),
        internal=True,
    )
    group_share_persister_class_name = string(
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        "Class that keeps the state of share partitions.",
        internal=True,
        ignored=NO_JAVA,
    )
    share_coordinator_state_topic_num_partitions = int32(
        50,
        "Partitions of the share state topic; not to be changed later.",
        valid=at_least(1),
        importance=HIGH,
    )
    share_coordinator_state_topic_replication_factor = int16(
        3,
        "Replicas of the share state topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    share_coordinator_state_topic_min_isr = int16(
        2,
        "The min.insync.replicas of the share state topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    share_coordinator_state_topic_segment_bytes = int32(
        104857600,
        "Segment size of the share state topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    share_coordinator_state_topic_compression_codec = int32(
        0,
        "Number of the codec that batches of the share state topic are written with.",
        importance=HIGH,
    )
    share_coordinator_state_topic_prune_interval_ms = int32(
        300000,
        "How often records that snapshots made redundant are deleted from the share state topic.",
        valid=at_least(1),
        internal=True,
    )
    share_coordinator_cold_partition_snapshot_interval_ms = int32(
        300000,
        "How often share partitions without traffic get a fresh snapshot.",
        valid=at_least(1),
        internal=True,
        ignored=SNAPSHOTS_ALL,
    )
    share_coordinator_snapshot_update_records_per_snapshot = int32(
        500,
        "Updates of a share partition after which its whole state is written.",
        valid=between(0, 500),
    )
    share_coordinator_load_buffer_size = int32(
        5242880,
        "Bytes of the share state topic that are read at once when a coordinator loads.",
        valid=at_least(1),
        importance=HIGH,
        ignored=OWN_BUFFERS,
    )
    share_coordinator_threads = int32(
        1,
        "Threads that run share coordinator shards.",
        valid=at_least(1),
        ignored=NO_THREADS,
    )
    share_coordinator_write_timeout_ms = int32(
        5000,
        "How long a write of the share coordinator waits for replicas.",
        valid=at_least(1),
        importance=HIGH,
    )
    share_coordinator_append_linger_ms = int32(
        -1,
        "How long the share coordinator gathers records before it writes them; -1 adapts.",
        valid=at_least(-1),
        ignored=NO_LINGER,
    )
    share_coordinator_cached_buffer_max_bytes = int32(
        1048588,
        "Largest write buffer that the share coordinator keeps.",
        valid=at_least(524288),
        dynamic=CLUSTER_WIDE,
        ignored=OWN_BUFFERS,
    )
