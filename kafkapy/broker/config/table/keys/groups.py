"""The group coordinator and its offsets topic; defaults of consumer and streams groups."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int16, int32, int64, string, strings
from kafkapy.broker.config.table.shared_values import (
    CLUSTER_WIDE,
    HIGH,
    MAX_INT,
    NO_LINGER,
    NO_THREADS,
    OWN_BUFFERS,
)
from kafkapy.broker.config.table.validators import ListOf, OneOf, at_least


class GroupKeys(Section):
    group_coordinator_rebalance_protocols = strings(
        ("classic", "consumer", "streams"),
        "Which group protocols are served.",
        valid=ListOf(("consumer", "classic", "share", "streams")),
    )
    group_coordinator_threads = int32(
        4,
        "Threads that run group coordinator shards.",
        valid=at_least(1),
        importance=HIGH,
        ignored=NO_THREADS,
    )
    group_coordinator_background_threads = int32(
        2,
        "Threads that compute assignments off the shards.",
        valid=at_least(1),
        importance=HIGH,
        ignored=NO_THREADS,
    )
    group_coordinator_append_linger_ms = int32(
        -1,
        "How long the coordinator gathers records before it writes them; -1 adapts.",
        valid=at_least(-1),
        ignored=NO_LINGER,
    )
    group_coordinator_cached_buffer_max_bytes = int32(
        1048588,
        "Largest write buffer that the group coordinator keeps.",
        valid=at_least(524288),
        dynamic=CLUSTER_WIDE,
        ignored=OWN_BUFFERS,
    )
    group_initial_rebalance_delay_ms = int32(
        3000,
        "How long the first rebalance of an empty classic group waits for members.",
    )
    group_min_session_timeout_ms = int32(
        6000,
        "Shortest session timeout that a classic member may ask for.",
    )
    group_max_session_timeout_ms = int32(
        1800000,
        "Longest session timeout that a classic member may ask for.",
    )
    group_max_size = int32(
        MAX_INT,
        "Members that a classic group may have.",
        valid=at_least(1),
    )
    group_consumer_session_timeout_ms = int32(
        45000,
        "How long a consumer may be silent before it is removed from its group (KIP-848).",
        valid=at_least(1),
    )
    group_consumer_min_session_timeout_ms = int32(
        45000,
        "Shortest session timeout that can be set for a consumer group.",
        valid=at_least(1),
    )
    group_consumer_max_session_timeout_ms = int32(
        60000,
        "Longest session timeout that can be set for a consumer group.",
        valid=at_least(1),
    )
    group_consumer_heartbeat_interval_ms = int32(
        5000,
        "How often a consumer sends a heartbeat to its group.",
        valid=at_least(1),
    )
    group_consumer_min_heartbeat_interval_ms = int32(
        5000,
        "Shortest heartbeat interval that can be set for a consumer group.",
        valid=at_least(1),
    )
    group_consumer_max_heartbeat_interval_ms = int32(
        15000,
        "Longest heartbeat interval that can be set for a consumer group.",
        valid=at_least(1),
    )
    group_consumer_assignment_interval_ms = int32(
        1000,
        "Least time between two assignments of a consumer group.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    group_consumer_min_assignment_interval_ms = int32(
        0,
        "Shortest assignment interval that can be set for a consumer group.",
        valid=at_least(0),
    )
    group_consumer_max_assignment_interval_ms = int32(
        15000,
        "Longest assignment interval that can be set for a consumer group.",
        valid=at_least(0),
    )
    group_consumer_assignors = strings(
        ("uniform", "range"),
        "Assignors of consumer groups; the first is used where members do not choose.",
        valid=ListOf(),
    )
    group_consumer_assignor_offload_enable = boolean(
        True,
        "Whether assignments of consumer groups are computed on another thread.",
        internal=True,
        ignored=NO_THREADS,
    )
    group_consumer_max_size = int32(
        MAX_INT,
        "Members that a consumer group may have.",
        valid=at_least(1),
    )
    group_consumer_migration_policy = string(
        "bidirectional",
        "Which ways a group may go between the classic and the consumer protocol.",
        valid=OneOf("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL", any_case=True),
    )
    group_consumer_regex_refresh_interval_ms = int32(
        600000,
        "How often subscriptions by pattern are matched anew.",
        valid=at_least(10000),
        internal=True,
    )
    group_streams_session_timeout_ms = int32(
        45000,
        "How long a streams member may be silent before it is removed.",
        valid=at_least(1),
    )
    group_streams_min_session_timeout_ms = int32(
        45000,
        "Shortest session timeout that can be set for a streams group.",
        valid=at_least(1),
    )
    group_streams_max_session_timeout_ms = int32(
        60000,
        "Longest session timeout that can be set for a streams group.",
        valid=at_least(1),
    )
    group_streams_heartbeat_interval_ms = int32(
        5000,
        "How often a streams member sends a heartbeat.",
        valid=at_least(1),
    )
    group_streams_min_heartbeat_interval_ms = int32(
        5000,
        "Shortest heartbeat interval that can be set for a streams group.",
        valid=at_least(1),
    )
    group_streams_max_heartbeat_interval_ms = int32(
        15000,
        "Longest heartbeat interval that can be set for a streams group.",
        valid=at_least(1),
    )
    group_streams_assignment_interval_ms = int32(
        1000,
        "Least time between two assignments of a streams group.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    group_streams_min_assignment_interval_ms = int32(
        0,
        "Shortest assignment interval that can be set for a streams group.",
        valid=at_least(0),
    )
    group_streams_max_assignment_interval_ms = int32(
        15000,
        "Longest assignment interval that can be set for a streams group.",
        valid=at_least(0),
    )
    group_streams_assignor_offload_enable = boolean(
        True,
        "Whether assignments of streams groups are computed on another thread.",
        internal=True,
        ignored=NO_THREADS,
    )
    group_streams_max_size = int32(
        MAX_INT,
        "Members that a streams group may have.",
        valid=at_least(1),
    )
    group_streams_num_standby_replicas = int32(
        0,
        "Standby replicas of each task of a streams group.",
        valid=at_least(0),
    )
    group_streams_max_standby_replicas = int32(
        2,
        "Most standby replicas that can be set for a streams group.",
        valid=at_least(0),
    )
    group_streams_initial_rebalance_delay_ms = int32(
        3000,
        "How long the first rebalance of an empty streams group waits for members.",
        valid=at_least(0),
    )
    offset_metadata_max_bytes = int32(
        4096,
        "Largest text that may be committed beside an offset.",
        importance=HIGH,
    )
    offsets_commit_timeout_ms = int32(
        5000,
        "How long a commit waits for the replicas of the offsets topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    offsets_load_buffer_size = int32(
        5242880,
        "Bytes of the offsets topic that are read at once when a coordinator loads.",
        valid=at_least(1),
        importance=HIGH,
        ignored=OWN_BUFFERS,
    )
    offsets_retention_minutes = int32(
        10080,
        "How long committed offsets outlive their group or its subscription.",
        valid=at_least(1),
        importance=HIGH,
    )
    offsets_retention_check_interval_ms = int64(
        600000,
        "How often expired offsets are looked for.",
        valid=at_least(1),
        importance=HIGH,
    )
    offsets_topic_num_partitions = int32(
        50,
        "Partitions of the offsets topic; not to be changed later.",
        valid=at_least(1),
        importance=HIGH,
    )
    offsets_topic_replication_factor = int16(
        3,
        "Replicas of the offsets topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    offsets_topic_segment_bytes = int32(
        104857600,
        "Segment size of the offsets topic.",
        valid=at_least(1),
        importance=HIGH,
    )
    offsets_topic_compression_codec = int32(
        0,
        "Number of the codec that batches of the offsets topic are written with.",
        importance=HIGH,
    )
