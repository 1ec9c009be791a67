"""What groups act on of the node's settings, its cluster's features and their own configs."""

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.resources import Resource
from kafkapy.group.settings import MINUTE_MS, Bounded, GroupSettings, MigrationPolicy
from kafkapy.kraft.features import SHARE_VERSION, STREAMS_VERSION
from kafkapy.kraft.image.image import MetadataImage

_GROUP_VERSION = "group.version"
# Places of relays (docs/RELAYS.md), and where the groups of a topic that is made smaller go on
# (docs/SHRINKING.md).
LASTING_GROUPS = ("kafkapy-relay.", "kafkapy-shrink.")


def group_settings(config: BrokerConfig, image: MetadataImage) -> GroupSettings:
    return GroupSettings(
        min_session_timeout_ms=config.group_min_session_timeout_ms,
        max_session_timeout_ms=config.group_max_session_timeout_ms,
        max_size=config.group_max_size,
        initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        is_consumer_protocol_enabled=(
            image.features.get(_GROUP_VERSION, 0) > 0
            and "consumer" in config.group_coordinator_rebalance_protocols
        ),
        consumer_max_size=config.group_consumer_max_size,
        consumer_assignors=config.group_consumer_assignors,
        consumer_migration_policy=MigrationPolicy(config.group_consumer_migration_policy.lower()),
        consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
        consumer_session_timeout_ms=Bounded(
            config.group_consumer_session_timeout_ms,
            config.group_consumer_min_session_timeout_ms,
            config.group_consumer_max_session_timeout_ms,
        ),
        consumer_heartbeat_interval_ms=Bounded(
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_min_heartbeat_interval_ms,
            config.group_consumer_max_heartbeat_interval_ms,
        ),
        consumer_assignment_interval_ms=Bounded(
            config.group_consumer_assignment_interval_ms,
            config.group_consumer_min_assignment_interval_ms,
            config.group_consumer_max_assignment_interval_ms,
        ),
        is_share_protocol_enabled=image.features.get(SHARE_VERSION, 0) > 0,
        share_assignor=config.group_share_assignors[0],
        share_max_size=config.group_share_max_size,
        share_session_timeout_ms=Bounded(
            config.group_share_session_timeout_ms,
            config.group_share_min_session_timeout_ms,
            config.group_share_max_session_timeout_ms,
        ),
        share_heartbeat_interval_ms=Bounded(
            config.group_share_heartbeat_interval_ms,
            config.group_share_min_heartbeat_interval_ms,
            config.group_share_max_heartbeat_interval_ms,
        ),
        share_assignment_interval_ms=Bounded(
            config.group_share_assignment_interval_ms,
            config.group_share_min_assignment_interval_ms,
            config.group_share_max_assignment_interval_ms,
        ),
        share_initialize_retry_ms=config.group_share_initialize_retry_interval_ms,
        is_streams_protocol_enabled=(
            image.features.get(STREAMS_VERSION, 0) > 0
            and "streams" in config.group_coordinator_rebalance_protocols
        ),
        streams_max_size=config.group_streams_max_size,
        streams_session_timeout_ms=Bounded(
            config.group_streams_session_timeout_ms,
            config.group_streams_min_session_timeout_ms,
            config.group_streams_max_session_timeout_ms,
        ),
        streams_heartbeat_interval_ms=Bounded(
            config.group_streams_heartbeat_interval_ms,
            config.group_streams_min_heartbeat_interval_ms,
            config.group_streams_max_heartbeat_interval_ms,
        ),
        streams_assignment_interval_ms=Bounded(
            config.group_streams_assignment_interval_ms,
            config.group_streams_min_assignment_interval_ms,
            config.group_streams_max_assignment_interval_ms,
        ),
        streams_initial_rebalance_delay_ms=config.group_streams_initial_rebalance_delay_ms,
        streams_standby_replicas=Bounded(
            config.group_streams_num_standby_replicas, 0, config.group_streams_max_standby_replicas
        ),
        offset_metadata_max_bytes=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * MINUTE_MS,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        lasting_groups=LASTING_GROUPS,
        groups={
            name: values
            for (kind, name), values in image.all_configs.items()
            if kind == Resource.GROUP
        },
    )
