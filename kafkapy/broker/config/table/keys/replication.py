"""Fetching, followers, leaders, the broker's life."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int32, int64, string
from kafkapy.broker.config.table.shared_values import (
    CLUSTER_WIDE,
    HIGH,
    NO_DEADLINE,
    NO_PURGATORY,
    NO_TIERS,
    ONE_TIMEOUT,
)
from kafkapy.broker.config.table.validators import at_least


class ReplicationKeys(Section):
    fetch_max_bytes = int32(
        57671680,
        "Bytes that one Fetch response holds at most.",
        valid=at_least(1024),
    )
    max_incremental_fetch_session_cache_slots = int32(
        1000,
        "Incremental fetch sessions that are kept.",
        valid=at_least(0),
    )
    fetch_purgatory_purge_interval_requests = int32(
        1000,
        "Requests after which the fetch purgatory is purged.",
        ignored=NO_PURGATORY,
    )
    producer_purgatory_purge_interval_requests = int32(
        1000,
        "Requests after which the produce purgatory is purged.",
        ignored=NO_PURGATORY,
    )
    delete_records_purgatory_purge_interval_requests = int32(
        1,
        "Requests after which the purgatory of DeleteRecords is purged.",
        ignored=NO_PURGATORY,
    )
    share_fetch_purgatory_purge_interval_requests = int32(
        1000,
        "Requests after which the share fetch purgatory is purged.",
        ignored=NO_PURGATORY,
    )
    num_replica_fetchers = int32(
        1,
        "Fetchers a follower runs for each leader.",
        valid=at_least(1),
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
        ignored="A follower has one fetcher for each leader.",
    )
    replica_fetch_max_bytes = int32(
        1048576,
        "Bytes that a follower asks for of each partition.",
        valid=at_least(0),
    )
    replica_fetch_response_max_bytes = int32(
        10485760,
        "Bytes that a follower asks for in one response.",
        valid=at_least(0),
    )
    replica_fetch_min_bytes = int32(
        1,
        "Bytes that a leader waits for before it answers a follower.",
        importance=HIGH,
    )
    replica_fetch_wait_max_ms = int32(
        500,
        "How long a leader may hold a follower's fetch.",
        importance=HIGH,
    )
    replica_fetch_backoff_ms = int32(
        1000,
        "How long a follower waits after a failed fetch.",
        valid=at_least(0),
    )
    replica_lag_time_max_ms = int64(
        30000,
        "How long a follower may be behind its leader before it leaves the ISR.",
        importance=HIGH,
    )
    replica_socket_timeout_ms = int32(
        30000,
        "How long a follower waits for an answer.",
        importance=HIGH,
    )
    replica_socket_receive_buffer_bytes = int32(
        65536,
        "SO_RCVBUF of a follower's connections.",
        importance=HIGH,
        ignored=ONE_TIMEOUT,
    )
    replica_high_watermark_checkpoint_interval_ms = int64(
        5000,
        "How often high watermarks are written to disk.",
        importance=HIGH,
    )
    replica_selector_class = string(
        None,
        "How the replica that a consumer reads from is chosen; Kafka's "
        "RackAwareReplicaSelector is known by its name.",
    )
    unclean_leader_election_enable = boolean(
        False,
        "Whether a replica that may lack records can become leader when no other is left.",
        dynamic=CLUSTER_WIDE,
        importance=HIGH,
    )
    unclean_leader_election_interval_ms = int64(
        300000,
        "How often the controller looks for partitions that only an unclean election can help.",
        valid=at_least(1),
        internal=True,
    )
    auto_leader_rebalance_enable = boolean(
        True,
        "Whether the controller hands leadership back to preferred replicas.",
        importance=HIGH,
    )
    leader_imbalance_check_interval_seconds = int64(
        300,
        "How often the controller looks for partitions that their preferred replica does not lead.",
        valid=at_least(1),
        importance=HIGH,
    )
    controlled_shutdown_enable = boolean(
        True,
        "Whether a broker hands its leaderships over before it stops.",
    )
    controller_socket_timeout_ms = int32(
        30000,
        "How long a broker waits for the controller's answer.",
        ignored=ONE_TIMEOUT,
    )
    broker_heartbeat_interval_ms = int32(
        2000,
        "How often a broker sends a heartbeat to the controller.",
    )
    broker_session_timeout_ms = int32(
        9000,
        "How long a broker may be silent before the controller fences it.",
    )
    initial_broker_registration_timeout_ms = int32(
        60000,
        "How long a broker tries to register before it gives up and stops.",
        ignored=NO_DEADLINE,
    )
    follower_fetch_last_tiered_offset_enable = boolean(
        False,
        "Whether a follower without data starts at the last tiered offset.",
        dynamic=CLUSTER_WIDE,
        ignored=NO_TIERS,
    )
