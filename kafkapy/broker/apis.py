"""THE table: every API that is served, its versions, where, and what it asks for.

ApiVersions, dispatch, the authorizer, docs/COMPAT.md and metric names are made from it,
so nothing can be advertised that is not served. Versions are those of Apache Kafka 4.3.1.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkapy.broker.call import Answer, Call
from kafkapy.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    allocate_producer_ids,
    alter_configs,
    alter_partition,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    api_versions,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    consumer_group_describe,
    consumer_group_heartbeat,
    controller_registration,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    end_txn,
    fetch,
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
    sync_group,
    txn_offset_commit,
    unregister_broker,
    update_features,
    write_txn_markers,
)
from kafkapy.core.data import dataclass
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.broker.node import Node

Handle = Callable[["Node", Call], Answer]


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    min_version: int
    max_version: int
    handle: Handle
    permission: str
    on_broker: bool = True
    on_controller: bool = False
    # What ApiVersions says the minimum is, where it is not the truth (KAFKA-18659).
    advertised_min_version: int | None = None


def _row(key: ApiKey, versions: tuple[int, int], module: Any, permission: str, **where: Any) -> Api:
    return Api(key, versions[0], versions[1], module.handle, permission, **where)


_BOTH = {"on_controller": True}
_CONTROLLER = {"on_broker": False, "on_controller": True}

K = ApiKey
APIS: tuple[Api, ...] = (
    _row(K.PRODUCE, (3, 13), produce, "WRITE on Topic", advertised_min_version=0),
    _row(K.FETCH, (4, 18), fetch, "READ on Topic"),
    _row(K.LIST_OFFSETS, (1, 11), list_offsets, "DESCRIBE on Topic"),
    _row(K.METADATA, (0, 13), metadata, "DESCRIBE on Topic"),
    _row(K.OFFSET_COMMIT, (2, 10), offset_commit, "READ on Group and Topic"),
    _row(K.OFFSET_FETCH, (1, 10), offset_fetch, "DESCRIBE on Group and Topic"),
    _row(K.FIND_COORDINATOR, (0, 6), find_coordinator, "DESCRIBE on Group or TransactionalId"),
    _row(K.JOIN_GROUP, (0, 9), join_group, "READ on Group"),
    _row(K.HEARTBEAT, (0, 4), heartbeat, "READ on Group"),
    _row(K.LEAVE_GROUP, (0, 5), leave_group, "READ on Group"),
    _row(K.SYNC_GROUP, (0, 5), sync_group, "READ on Group"),
    _row(K.DESCRIBE_GROUPS, (0, 6), describe_groups, "DESCRIBE on Group"),
    _row(K.LIST_GROUPS, (0, 5), list_groups, "DESCRIBE on Cluster or Group"),
    _row(K.API_VERSIONS, (0, 4), api_versions, "none", **_BOTH),
    _row(K.CREATE_TOPICS, (2, 7), create_topics, "CREATE on Cluster or Topic", **_BOTH),
    _row(K.DELETE_TOPICS, (1, 6), delete_topics, "DELETE on Topic", **_BOTH),
    _row(K.DELETE_RECORDS, (0, 2), delete_records, "DELETE on Topic"),
    _row(
        K.INIT_PRODUCER_ID,
        (0, 5),
        init_producer_id,
        "IDEMPOTENT_WRITE on Cluster, or WRITE on TransactionalId or any Topic",
    ),
    _row(K.OFFSET_FOR_LEADER_EPOCH, (2, 4), offset_for_leader_epoch, "DESCRIBE on Topic"),
    _row(
        K.ADD_PARTITIONS_TO_TXN, (0, 5), add_partitions_to_txn, "WRITE on TransactionalId and Topic"
    ),
    _row(
        K.ADD_OFFSETS_TO_TXN, (0, 4), add_offsets_to_txn, "WRITE on TransactionalId, READ on Group"
    ),
    _row(K.END_TXN, (0, 5), end_txn, "WRITE on TransactionalId"),
    _row(K.WRITE_TXN_MARKERS, (1, 2), write_txn_markers, "ALTER or CLUSTER_ACTION on Cluster"),
    _row(
        K.TXN_OFFSET_COMMIT,
        (0, 5),
        txn_offset_commit,
        "WRITE on TransactionalId, READ on Group and Topic",
    ),
    _row(
        K.DESCRIBE_CONFIGS,
        (1, 4),
        describe_configs,
        "DESCRIBE_CONFIGS on Cluster, Topic or Group",
        **_BOTH,
    ),
    _row(
        K.ALTER_CONFIGS, (0, 2), alter_configs, "ALTER_CONFIGS on Cluster, Topic or Group", **_BOTH
    ),
    _row(K.ALTER_REPLICA_LOG_DIRS, (1, 2), alter_replica_log_dirs, "ALTER on Cluster"),
    _row(K.DESCRIBE_LOG_DIRS, (1, 5), describe_log_dirs, "DESCRIBE on Cluster"),
    _row(K.CREATE_PARTITIONS, (0, 3), create_partitions, "ALTER on Topic", **_BOTH),
    _row(K.DELETE_GROUPS, (0, 2), delete_groups, "DELETE on Group"),
    _row(K.ELECT_LEADERS, (0, 2), elect_leaders, "ALTER on Cluster", **_BOTH),
    _row(
        K.INCREMENTAL_ALTER_CONFIGS,
        (0, 1),
        incremental_alter_configs,
        "ALTER_CONFIGS on Cluster, Topic or Group",
        **_BOTH,
    ),
    _row(
        K.ALTER_PARTITION_REASSIGNMENTS,
        (0, 1),
        alter_partition_reassignments,
        "ALTER on Cluster",
        **_BOTH,
    ),
    _row(
        K.LIST_PARTITION_REASSIGNMENTS,
        (0, 0),
        list_partition_reassignments,
        "DESCRIBE on Cluster",
        **_BOTH,
    ),
    _row(K.OFFSET_DELETE, (0, 0), offset_delete, "DELETE on Group, READ on Topic"),
    _row(K.DESCRIBE_QUORUM, (0, 2), describe_quorum, "DESCRIBE on Cluster", **_BOTH),
    _row(K.ALTER_PARTITION, (2, 3), alter_partition, "CLUSTER_ACTION on Cluster", **_CONTROLLER),
    _row(K.UPDATE_FEATURES, (0, 2), update_features, "ALTER on Cluster", **_BOTH),
    _row(K.DESCRIBE_CLUSTER, (0, 2), describe_cluster, "none", **_BOTH),
    _row(K.DESCRIBE_PRODUCERS, (0, 0), describe_producers, "READ on Topic"),
    _row(
        K.BROKER_REGISTRATION,
        (0, 4),
        broker_registration,
        "CLUSTER_ACTION on Cluster",
        **_CONTROLLER,
    ),
    _row(K.BROKER_HEARTBEAT, (0, 2), broker_heartbeat, "CLUSTER_ACTION on Cluster", **_CONTROLLER),
    _row(K.UNREGISTER_BROKER, (0, 0), unregister_broker, "ALTER on Cluster", **_BOTH),
    _row(K.DESCRIBE_TRANSACTIONS, (0, 0), describe_transactions, "DESCRIBE on TransactionalId"),
    _row(K.LIST_TRANSACTIONS, (0, 2), list_transactions, "DESCRIBE on TransactionalId"),
    _row(
        K.ALLOCATE_PRODUCER_IDS,
        (0, 0),
        allocate_producer_ids,
        "CLUSTER_ACTION on Cluster",
        **_CONTROLLER,
    ),
    _row(K.CONSUMER_GROUP_HEARTBEAT, (0, 1), consumer_group_heartbeat, "READ on Group"),
    _row(K.CONSUMER_GROUP_DESCRIBE, (0, 1), consumer_group_describe, "DESCRIBE on Group"),
    _row(
        K.CONTROLLER_REGISTRATION,
        (0, 0),
        controller_registration,
        "CLUSTER_ACTION on Cluster",
        **_CONTROLLER,
    ),
    _row(
        K.ASSIGN_REPLICAS_TO_DIRS,
        (0, 0),
        assign_replicas_to_dirs,
        "CLUSTER_ACTION on Cluster",
        **_CONTROLLER,
    ),
    _row(K.LIST_CONFIG_RESOURCES, (0, 1), list_config_resources, "DESCRIBE_CONFIGS on Cluster"),
    _row(K.DESCRIBE_TOPIC_PARTITIONS, (0, 0), describe_topic_partitions, "DESCRIBE on Topic"),
)

_ON_BROKER = {int(api.key): api for api in APIS if api.on_broker}
_ON_CONTROLLER = {int(api.key): api for api in APIS if api.on_controller}


def find_api(api_key: int, *, is_controller: bool) -> Api | None:
    return (_ON_CONTROLLER if is_controller else _ON_BROKER).get(api_key)


def apis_on(*, is_controller: bool) -> tuple[Api, ...]:
    """In order of their keys."""
    table = _ON_CONTROLLER if is_controller else _ON_BROKER
    return tuple(table[key] for key in sorted(table))
