"""From the configuration to what each part of the node is told of it."""

from collections.abc import Callable, Sequence

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import parse_addresses, parse_voters
from kafkapy.broker.node.endpoints import Endpoints
from kafkapy.broker.node.identity import Identity, is_alone
from kafkapy.broker.peers.connection import PeerSettings
from kafkapy.broker.peers.login import LogIn
from kafkapy.core.addresses import Address
from kafkapy.kraft.controller.state import ControllerSettings, TokenSettings
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.quorum.state import QuorumSettings
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet
from kafkapy.kraft.quorum_facts import MetadataQuorumSettings
from kafkapy.log.cleaning.cleaner import CleanerSettings
from kafkapy.log.directories.all_logs import DirectorySettings


def quorum_settings(
    config: BrokerConfig, identity: Identity, endpoints: Endpoints
) -> MetadataQuorumSettings:
    listener = config.listening.controller_names[0]
    return MetadataQuorumSettings(
        cluster_id=identity.cluster_id,
        local=ReplicaKey(config.node_id, identity.directory_ids[config.metadata_directory]),
        endpoints=tuple(VoterAddress(one.name, one.host, one.port) for one in endpoints.controller),
        configured_voters=_configured_voters(config, endpoints, listener),
        quorum=QuorumSettings(
            election_timeout_ms=config.controller_quorum_election_timeout_ms,
            fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
            election_backoff_max_ms=config.controller_quorum_election_backoff_max_ms,
            request_timeout_ms=config.controller_quorum_request_timeout_ms,
            retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
            fetch_max_bytes=config.controller_quorum_fetch_max_bytes,
            fetch_snapshot_max_bytes=config.controller_quorum_fetch_snapshot_max_bytes,
            joins_by_itself=config.is_controller and config.controller_quorum_auto_join_enable,
        ),
        snapshots=SnapshotSettings(
            max_new_record_bytes=config.metadata_log_max_record_bytes_between_snapshots,
            max_interval_ms=config.metadata_log_max_snapshot_interval_ms,
            max_retention_bytes=config.metadata_max_retention_bytes,
            max_retention_ms=config.metadata_max_retention_ms,
        ),
        segment_bytes=config.metadata_log_segment_bytes,
    )


def _configured_voters(config: BrokerConfig, endpoints: Endpoints, listener: str) -> VoterSet:
    """Of a static quorum. A lone node's directory may come from one (the log then names no
    voters), without the settings that went with it: its only voter is the node itself."""
    voters = parse_voters(config.controller_quorum_voters)
    if voters or not is_alone(config):
        return VoterSet(
            Voter(ReplicaKey(voter.node_id), (VoterAddress(listener, voter.host, voter.port),))
            for voter in voters
        )
    own = tuple(VoterAddress(one.name, one.host, one.port) for one in endpoints.controller)
    return VoterSet([Voter(ReplicaKey(config.node_id), own)])


def controller_settings(
    config: BrokerConfig, cluster_id: str, quorum_ids: Callable[[], Sequence[int]]
) -> ControllerSettings:
    return ControllerSettings(
        node_id=config.node_id,
        cluster_id=cluster_id,
        session_timeout_ms=config.broker_session_timeout_ms,
        balances_leaders=config.auto_leader_rebalance_enable,
        balance_interval_ms=config.leader_imbalance_check_interval_seconds * 1000,
        unclean_election_interval_ms=config.unclean_leader_election_interval_ms,
        max_idle_interval_ms=config.metadata_max_idle_interval_ms,
        quorum_ids=quorum_ids,
        tokens=TokenSettings(
            secret=config.delegation_token_secret_key or None,
            max_lifetime_ms=config.delegation_token_max_lifetime_ms,
            expiry_ms=config.delegation_token_expiry_time_ms,
            expiry_check_interval_ms=config.delegation_token_expiry_check_interval_ms,
        ),
    )


def bootstrap_addresses(config: BrokerConfig) -> list[Address]:
    """Whom to ask who leads the quorum, as long as nobody has said."""
    voters = parse_voters(config.controller_quorum_voters)
    if voters:
        return [Address(one.host, one.port) for one in voters]
    key = "controller.quorum.bootstrap.servers"
    return [
        Address(host, port)
        for host, port in parse_addresses(key, config.controller_quorum_bootstrap_servers)
    ]


def peer_settings(config: BrokerConfig, purpose: str, log_in: LogIn) -> PeerSettings:
    """Of connections to other nodes, for one purpose each."""
    return PeerSettings(
        client_id=f"{purpose}-{config.node_id}",
        connection_setup_timeout_ms=config.socket_connection_setup_timeout_ms,
        log_in=log_in,
    )


def cordoned_directories(config: BrokerConfig) -> frozenset[str]:
    """Directories that get no new replicas (KIP-1066); "*" is all of them."""
    named = config.cordoned_log_dirs
    return frozenset(config.data_directories if "*" in named else named)


def directory_settings(config: BrokerConfig) -> DirectorySettings:
    return DirectorySettings(
        initial_delay_ms=config.log_initial_task_delay_ms,
        retention_check_interval_ms=config.log_retention_check_interval_ms,
        high_watermark_checkpoint_interval_ms=config.replica_high_watermark_checkpoint_interval_ms,
        recovery_point_checkpoint_interval_ms=config.log_flush_offset_checkpoint_interval_ms,
        log_start_checkpoint_interval_ms=config.log_flush_start_offset_checkpoint_interval_ms,
        producer_expiry_ms=config.producer_id_expiration_ms,
        producer_expiry_check_interval_ms=config.producer_id_expiration_check_interval_ms,
        cleaner_backoff_ms=config.log_cleaner_backoff_ms,
        cleaner=CleanerSettings(
            is_enabled=config.log_cleaner_enable,
            dedupe_buffer_size=config.log_cleaner_dedupe_buffer_size,
            dedupe_buffer_load_factor=config.log_cleaner_io_buffer_load_factor,
            io_max_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
        ),
        cordoned=cordoned_directories(config),
    )
