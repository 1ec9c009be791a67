"""Who the node is, its data directories, policies, telemetry and quotas."""

from kafkapy.broker.config.table.key import REQUIRED, Section
from kafkapy.broker.config.table.make import boolean, int32, int64, java_class, string, strings
from kafkapy.broker.config.table.shared_values import (
    CLUSTER_WIDE,
    FIXED_SAMPLES,
    HIGH,
    LOW,
    MAX_LONG,
    NO_JAVA,
    NO_JMX,
    NOTHING_UNSTABLE,
    PER_BROKER,
)
from kafkapy.broker.config.table.validators import ListOf, at_least


class NodeKeys(Section):
    process_roles = strings(
        REQUIRED,
        "What this process is: broker, controller or both.",
        valid=ListOf(("broker", "controller")),
        importance=HIGH,
    )
    node_id = int32(
        REQUIRED,
        "Number of this node, unique in the cluster.",
        valid=at_least(0),
        importance=HIGH,
    )
    broker_id = int32(
        -1,
        "Older name of node.id; if both are set they must be equal.",
        importance=HIGH,
    )
    broker_rack = string(
        None,
        "Rack of this broker, for placing replicas and for fetching from a replica nearby.",
    )
    log_dir = strings(
        ("/tmp/kafka-logs",),
        "Directories of the data where log.dirs is not set.",
        valid=ListOf(),
        importance=HIGH,
    )
    log_dirs = strings(
        None,
        "Directories of the data; log.dir if unset.",
        valid=ListOf(may_be_null=True),
        importance=HIGH,
    )
    cordoned_log_dirs = strings(
        (),
        "Log directories that get no new replicas; * means all of them (KIP-1066).",
        dynamic=PER_BROKER,
    )
    auto_create_topics_enable = boolean(
        True,
        "Whether a topic that a client asks for and that does not exist is created.",
        importance=HIGH,
    )
    delete_topic_enable = boolean(
        True,
        "Whether topics can be deleted.",
        importance=HIGH,
    )
    num_partitions = int32(
        1,
        "Partitions of a topic whose creator does not say how many.",
        valid=at_least(1),
    )
    default_replication_factor = int32(
        1,
        "Replicas of a topic whose creator does not say how many.",
    )
    create_topic_policy_class_name = java_class(
        None,
        "Class that may refuse to create a topic.",
        importance=LOW,
    )
    alter_config_policy_class_name = java_class(
        None,
        "Class that may refuse to alter a configuration.",
        importance=LOW,
    )
    config_providers = strings(
        (),
        "Names of providers that values of the form ${name:path:key} are looked up in.",
        dynamic=CLUSTER_WIDE,
        importance=LOW,
    )
    max_request_partition_size_limit = int32(
        2000,
        "Partitions that one DescribeTopicPartitions response holds at most.",
        valid=at_least(1),
    )
    telemetry_max_bytes = int32(
        1048576,
        "Largest batch of metrics that a client may push (KIP-714).",
        valid=at_least(1),
        importance=LOW,
    )
    metric_reporters = strings(
        ("org.apache.kafka.common.metrics.JmxReporter",),
        "Classes that are told of new metrics.",
        dynamic=CLUSTER_WIDE,
        importance=LOW,
        ignored=NO_JAVA,
    )
    metrics_num_samples = int32(
        2,
        "Samples that a metric is computed from.",
        valid=at_least(1),
        importance=LOW,
        ignored=NO_JMX,
    )
    metrics_sample_window_ms = int64(
        30000,
        "How long one sample of a metric lasts.",
        valid=at_least(1),
        importance=LOW,
        ignored=NO_JMX,
    )
    metrics_recording_level = string(
        "INFO",
        "Which metrics are recorded: INFO, DEBUG or TRACE.",
        importance=LOW,
        ignored=NO_JMX,
    )
    kafka_metrics_polling_interval_secs = int32(
        10,
        "How often reporters of Yammer metrics are polled.",
        valid=at_least(1),
        importance=LOW,
        ignored=NO_JMX,
    )
    kafka_metrics_reporters = strings(
        (),
        "Classes that report Yammer metrics.",
        importance=LOW,
        ignored=NO_JAVA,
    )
    quota_window_num = int32(
        11,
        "Samples that client quotas are measured over.",
        valid=at_least(1),
        importance=LOW,
    )
    quota_window_size_seconds = int32(
        1,
        "Length of one sample of client quotas.",
        valid=at_least(1),
        importance=LOW,
    )
    controller_quota_window_num = int32(
        11,
        "Samples that the quota on controller mutations is measured over.",
        valid=at_least(1),
        importance=LOW,
    )
    controller_quota_window_size_seconds = int32(
        1,
        "Length of one sample of the quota on controller mutations.",
        valid=at_least(1),
        importance=LOW,
    )
    replication_quota_window_num = int32(
        11,
        "Samples that replication quotas are measured over.",
        valid=at_least(1),
        importance=LOW,
        ignored=FIXED_SAMPLES,
    )
    replication_quota_window_size_seconds = int32(
        1,
        "Length of one sample of replication quotas.",
        valid=at_least(1),
        importance=LOW,
        ignored=FIXED_SAMPLES,
    )
    alter_log_dirs_replication_quota_window_num = int32(
        11,
        "Samples that the quota on moves between log directories is measured over.",
        valid=at_least(1),
        importance=LOW,
        ignored=FIXED_SAMPLES,
    )
    alter_log_dirs_replication_quota_window_size_seconds = int32(
        1,
        "Length of one sample of the quota on moves between log directories.",
        valid=at_least(1),
        importance=LOW,
        ignored=FIXED_SAMPLES,
    )
    leader_replication_throttled_rate = int64(
        MAX_LONG,
        "Bytes in a second that leaders send for throttled replicas; set at run time.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    follower_replication_throttled_rate = int64(
        MAX_LONG,
        "Bytes in a second that followers fetch for throttled replicas; set at run time.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    replica_alter_log_dirs_io_max_bytes_per_second = int64(
        MAX_LONG,
        "Bytes in a second that are moved between log directories; set at run time.",
        valid=at_least(0),
        dynamic=CLUSTER_WIDE,
    )
    client_quota_callback_class = java_class(
        None,
        "Class that decides which quota a client falls under.",
        importance=LOW,
    )
    unstable_api_versions_enable = boolean(
        False,
        "Whether versions of APIs that may still change are served.",
        internal=True,
        ignored=NOTHING_UNSTABLE,
    )
    unstable_feature_versions_enable = boolean(
        False,
        "Whether levels of features that may still change can be finalized.",
        internal=True,
        ignored=NOTHING_UNSTABLE,
    )
