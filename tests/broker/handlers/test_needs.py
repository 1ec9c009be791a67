"""Every handler gets along with the role that serves it. What it needs is read by mypy alone;
the lists say so to mypy, the tests that none is missing.
"""

from collections.abc import Callable
from typing import Any

from kafkapy.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    add_raft_voter,
    allocate_producer_ids,
    alter_client_quotas,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    api_versions,
    assign_replicas_to_dirs,
    begin_quorum_epoch,
    broker_heartbeat,
    broker_registration,
    consumer_group_describe,
    consumer_group_heartbeat,
    controller_registration,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    end_quorum_epoch,
    end_txn,
    envelope,
    fetch,
    fetch_metadata_log,
    fetch_snapshot,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    remove_raft_voter,
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    update_raft_voter,
    vote,
    write_txn_markers,
)
from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.broker.node.controller_role import ControllerRole
from kafkapy.broker.requests.apis import APIS
from kafkapy.broker.requests.request import Answer

ON_BROKERS: tuple[Callable[[BrokerRole, Any], Answer], ...] = (
    produce.handle,
    fetch.handle,
    list_offsets.handle,
    metadata.handle,
    offset_commit.handle,
    offset_fetch.handle,
    find_coordinator.handle,
    join_group.handle,
    heartbeat.handle,
    leave_group.handle,
    sync_group.handle,
    describe_groups.handle,
    list_groups.handle,
    api_versions.handle,
    delete_records.handle,
    init_producer_id.handle,
    offset_for_leader_epoch.handle,
    add_partitions_to_txn.handle,
    add_offsets_to_txn.handle,
    end_txn.handle,
    write_txn_markers.handle,
    txn_offset_commit.handle,
    describe_acls.handle,
    describe_configs.handle,
    alter_replica_log_dirs.handle,
    describe_log_dirs.handle,
    delete_groups.handle,
    offset_delete.handle,
    describe_client_quotas.handle,
    describe_cluster.handle,
    describe_producers.handle,
    describe_transactions.handle,
    list_transactions.handle,
    consumer_group_heartbeat.handle,
    consumer_group_describe.handle,
    list_config_resources.handle,
    describe_topic_partitions.handle,
)

# On their own listeners, and for what brokers forward.
ON_CONTROLLERS: tuple[Callable[[ControllerRole, Any], Answer], ...] = (
    api_versions.handle,
    create_topics.handle,
    delete_topics.handle,
    describe_acls.handle,
    create_acls.handle,
    delete_acls.handle,
    describe_configs.handle,
    alter_configs.handle,
    create_partitions.handle,
    elect_leaders.handle,
    incremental_alter_configs.handle,
    alter_partition_reassignments.handle,
    list_partition_reassignments.handle,
    alter_client_quotas.handle,
    describe_quorum.handle,
    fetch_metadata_log.handle,
    envelope.handle,
    vote.handle,
    begin_quorum_epoch.handle,
    end_quorum_epoch.handle,
    fetch_snapshot.handle,
    alter_partition.handle,
    update_features.handle,
    describe_cluster.handle,
    broker_registration.handle,
    broker_heartbeat.handle,
    unregister_broker.handle,
    allocate_producer_ids.handle,
    controller_registration.handle,
    assign_replicas_to_dirs.handle,
    add_raft_voter.handle,
    remove_raft_voter.handle,
    update_raft_voter.handle,
)


def test_every_handler_that_a_broker_calls_is_among_those_that_mypy_checks() -> None:
    served = [api.handle for api in APIS if api.on_broker and not api.is_forwarded]
    assert served == list(ON_BROKERS)


def test_every_handler_that_a_controller_calls_is_among_those_that_mypy_checks() -> None:
    assert [api.handle for api in APIS if api.on_controller] == list(ON_CONTROLLERS)


def test_what_is_forwarded_is_served_by_controllers() -> None:
    assert all(api.on_broker and api.on_controller for api in APIS if api.is_forwarded)
