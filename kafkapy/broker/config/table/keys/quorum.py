"""The metadata quorum and its log."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int32, int64, string, strings
from kafkapy.broker.config.table.shared_values import (
    BY_SIZE,
    HIGH,
    LOW,
    MAX_LONG,
    NO_DEADLINE,
    NO_JMX,
    NO_LINGER,
    OF_KAFKAS_TESTS,
    OWN_BUFFERS,
)
from kafkapy.broker.config.table.validators import at_least


class QuorumKeys(Section):
    controller_quorum_voters = strings(
        (),
        "Voters of a static quorum as <id>@<host>:<port>.",
        importance=HIGH,
    )
    controller_quorum_bootstrap_servers = strings(
        (),
        "Where a node asks for the quorum's leader, as <host>:<port>.",
        importance=HIGH,
    )
    controller_quorum_auto_join_enable = boolean(
        False,
        "Whether a controller that is no voter asks to become one.",
        importance=LOW,
    )
    controller_quorum_election_timeout_ms = int32(
        1000,
        "How long a voter waits for votes before it tries anew.",
        valid=at_least(0),
        importance=HIGH,
    )
    controller_quorum_election_backoff_max_ms = int32(
        1000,
        "How long voters wait at most after a leader that resigned named others before them.",
        valid=at_least(0),
        importance=HIGH,
    )
    controller_quorum_fetch_timeout_ms = int32(
        2000,
        "How long a follower goes without a fetch from its leader before it stands for election.",
        valid=at_least(0),
        importance=HIGH,
    )
    controller_quorum_fetch_max_bytes = int32(
        1048576,
        "Bytes of the metadata log that one fetch asks for.",
        valid=at_least(1),
        importance=LOW,
    )
    controller_quorum_fetch_snapshot_max_bytes = int32(
        1048576,
        "Bytes of a metadata snapshot that one fetch asks for.",
        valid=at_least(1),
        importance=LOW,
    )
    controller_quorum_request_timeout_ms = int32(
        2000,
        "How long the quorum's requests may take.",
        valid=at_least(0),
    )
    controller_quorum_retry_backoff_ms = int32(
        20,
        "How long the quorum waits before it repeats a failed request.",
        valid=at_least(0),
        importance=LOW,
    )
    controller_quorum_append_linger_ms = int32(
        25,
        "How long the quorum's leader gathers records before it writes them.",
        valid=at_least(0),
        ignored=NO_LINGER,
    )
    metadata_log_dir = string(
        None,
        "Directory of the metadata log; the first log directory if unset.",
        importance=HIGH,
    )
    metadata_log_segment_bytes = int32(
        1073741824,
        "Size of a segment of the metadata log.",
        valid=at_least(8388608),
        importance=HIGH,
    )
    metadata_log_segment_ms = int64(
        604800000,
        "Age at which a segment of the metadata log is closed.",
        importance=HIGH,
        ignored=BY_SIZE,
    )
    metadata_log_max_record_bytes_between_snapshots = int64(
        20971520,
        "Bytes of metadata records after which a snapshot is written.",
        valid=at_least(1),
        importance=HIGH,
    )
    metadata_log_max_snapshot_interval_ms = int64(
        3600000,
        "How long the metadata log goes without a snapshot while there are new records; 0"
        " switches this off.",
        valid=at_least(0),
        importance=HIGH,
    )
    metadata_max_retention_bytes = int64(
        104857600,
        "Size of metadata log and snapshots above which old ones are deleted.",
        importance=HIGH,
    )
    metadata_max_retention_ms = int64(
        604800000,
        "Age above which metadata segments and snapshots are deleted.",
        importance=HIGH,
    )
    metadata_max_idle_interval_ms = int32(
        500,
        "How long the active controller is silent before it writes a no-op record; 0 "
        "switches this off.",
        valid=at_least(0),
        importance=LOW,
    )
    internal_metadata_log_segment_bytes = int32(
        None,
        "Overrides metadata.log.segment.bytes, without its lower bound.",
        internal=True,
        ignored=OF_KAFKAS_TESTS,
    )
    internal_metadata_max_batch_size_in_bytes = int32(
        8388608,
        "Largest batch of the metadata log.",
        internal=True,
        ignored=OWN_BUFFERS,
    )
    internal_metadata_delete_delay_millis = int64(
        60000,
        "How long a deleted metadata segment stays on disk.",
        internal=True,
        ignored=OF_KAFKAS_TESTS,
    )
    controller_performance_sample_period_ms = int64(
        60000,
        "How often the controller's slowest events are reported.",
        valid=at_least(100),
        internal=True,
        ignored=NO_JMX,
    )
    controller_performance_always_log_threshold_ms = int64(
        2000,
        "How long an event of the controller must take to be reported at once.",
        valid=at_least(0),
        internal=True,
        ignored=NO_JMX,
    )
    server_max_startup_time_ms = int64(
        MAX_LONG,
        "How long the node may take to start.",
        valid=at_least(0),
        internal=True,
        ignored=NO_DEADLINE,
    )
