"""Tiered storage (KIP-405): accepted, so that a server.properties that names it starts."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, float64, int32, int64, string
from kafkapy.broker.config.table.shared_values import CLUSTER_WIDE, LOW, MAX_LONG, NO_TIERS
from kafkapy.broker.config.table.validators import NonEmptyText, at_least, between


class RemoteKeys(Section):
    remote_log_storage_system_enable = boolean(
        False,
        "Whether tiered storage is on.",
    )
    remote_log_storage_manager_class_name = string(
        None,
        "Class that keeps segments elsewhere.",
        valid=NonEmptyText(),
        ignored=NO_TIERS,
    )
    remote_log_storage_manager_class_path = string(
        None,
        "Where the storage manager's classes are found.",
        ignored=NO_TIERS,
    )
    remote_log_storage_manager_impl_prefix = string(
        "rsm.config.",
        "Prefix of the storage manager's own keys.",
        valid=NonEmptyText(),
        ignored=NO_TIERS,
    )
    remote_log_metadata_manager_class_name = string(
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        "Class that keeps track of segments elsewhere.",
        valid=NonEmptyText(),
        ignored=NO_TIERS,
    )
    remote_log_metadata_manager_class_path = string(
        None,
        "Where the metadata manager's classes are found.",
        ignored=NO_TIERS,
    )
    remote_log_metadata_manager_impl_prefix = string(
        "rlmm.config.",
        "Prefix of the metadata manager's own keys.",
        valid=NonEmptyText(),
        ignored=NO_TIERS,
    )
    remote_log_metadata_manager_listener_name = string(
        None,
        "Listener that the metadata manager connects to.",
        valid=NonEmptyText(),
        ignored=NO_TIERS,
    )
    remote_log_metadata_custom_metadata_max_bytes = int32(
        128,
        "Largest custom metadata of a segment.",
        valid=at_least(0),
        importance=LOW,
        ignored=NO_TIERS,
    )
    remote_log_index_file_cache_total_size_bytes = int64(
        1073741824,
        "Local space for indexes of tiered segments.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=LOW,
        ignored=NO_TIERS,
    )
    remote_log_index_file_cache_ttl_ms = int64(
        900000,
        "How long an index of a tiered segment stays cached.",
        valid=at_least(-1),
        internal=True,
        ignored=NO_TIERS,
    )
    remote_log_manager_thread_pool_size = int32(
        2,
        "Threads that see to segments of leaders and followers.",
        valid=at_least(1),
        ignored=NO_TIERS,
    )
    remote_log_manager_copier_thread_pool_size = int32(
        10,
        "Threads that upload segments.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_log_manager_expiration_thread_pool_size = int32(
        10,
        "Threads that delete expired segments.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_log_manager_follower_thread_pool_size = int32(
        2,
        "Threads that follow what leaders uploaded.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_log_manager_task_interval_ms = int64(
        30000,
        "How often segments to upload or delete are looked for.",
        valid=at_least(1),
        importance=LOW,
        ignored=NO_TIERS,
    )
    remote_log_manager_task_retry_backoff_ms = int64(
        500,
        "How long a failed task waits at first.",
        valid=at_least(1),
        internal=True,
        ignored=NO_TIERS,
    )
    remote_log_manager_task_retry_backoff_max_ms = int64(
        30000,
        "How long a failed task waits at most.",
        valid=at_least(1),
        internal=True,
        ignored=NO_TIERS,
    )
    remote_log_manager_task_retry_jitter = float64(
        0.2,
        "Share of the wait that is random.",
        valid=between(0, 0.5),
        internal=True,
        ignored=NO_TIERS,
    )
    remote_log_manager_copy_max_bytes_per_second = int64(
        MAX_LONG,
        "Bytes in a second that are uploaded.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_log_manager_copy_quota_window_num = int32(
        11,
        "Samples that the upload quota is measured over.",
        valid=at_least(1),
        ignored=NO_TIERS,
    )
    remote_log_manager_copy_quota_window_size_seconds = int32(
        1,
        "Length of one sample of the upload quota.",
        valid=at_least(1),
        ignored=NO_TIERS,
    )
    remote_log_manager_fetch_max_bytes_per_second = int64(
        MAX_LONG,
        "Bytes in a second that are read back.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_log_manager_fetch_quota_window_num = int32(
        11,
        "Samples that the read quota is measured over.",
        valid=at_least(1),
        ignored=NO_TIERS,
    )
    remote_log_manager_fetch_quota_window_size_seconds = int32(
        1,
        "Length of one sample of the read quota.",
        valid=at_least(1),
        ignored=NO_TIERS,
    )
    remote_log_reader_threads = int32(
        10,
        "Threads that read tiered segments.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_log_reader_max_pending_tasks = int32(
        100,
        "Reads of tiered segments that may wait.",
        valid=at_least(1),
        ignored=NO_TIERS,
    )
    remote_fetch_max_wait_ms = int32(
        500,
        "How long a fetch waits for tiered data.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
    remote_list_offsets_request_timeout_ms = int64(
        30000,
        "How long ListOffsets waits for tiered data.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
