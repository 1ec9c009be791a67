"""THE table: every API that is served, its versions, where, and what it asks for.

ApiVersions, dispatch and docs/COMPAT.md are made from it, so nothing can be advertised that
is not served. `permission` is what a client needs where there is an authorizer: asked before the
handler is (security/authorizer/needs.py), or, in words, in the handler, because it depends on
what is named in the request, or is answered item by item.
Versions are those of Apache Kafka 4.3.1. Handlers are found by name: a start needs none of
them, and most nodes need few.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.needs import (
    Permission,
    on_cluster,
    on_group,
    on_transactional_id,
)
from kafkapy.core.data import dataclass
from kafkapy.kraft.acls import Operation
from kafkapy.protocol.api_keys import ApiKey

_HANDLERS: Final = "kafkapy.broker.handlers"

# What a handler is given first is the role that serves it: node/broker_role.py on a broker's
# listener, node/controller_role.py on a controller's and for what is forwarded.
Handle = Callable[[Any, Call[Any]], Answer]


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    min_version: int
    max_version: int
    permission: Permission
    on_broker: bool = True
    on_controller: bool = False
    # Only the active controller decides: a broker hands the request on to it.
    is_forwarded: bool = False
    # The module in broker/controller that hands it on, where there is more to it.
    handed_on_by: str | None = None
    # What ApiVersions says the minimum is, where it is not the truth (KAFKA-18659).
    advertised_min_version: int | None = None
    # The module in handlers/, where it does not have the API's name.
    handler: str | None = None

    @property
    def handle(self) -> Handle:
        """Of its module in handlers/, imported at its first request."""
        return _handle(int(self.key), self.handler)

    def hand_on(self, broker: Any, request: memoryview, call: Call[Any]) -> Answer:
        """To the active controller, by the module that is named for it."""
        assert self.handed_on_by is not None, self.key
        return _hand_on(self.handed_on_by)(broker, request, call)


@cache
def _handle(key: int, module: str | None) -> Handle:
    name = module or next(one.name for one in ApiKey if one == key).lower()
    handle: Handle = import_module(f"{_HANDLERS}.{name}").handle
    return handle


@cache
def _hand_on(name: str) -> Callable[[Any, memoryview, Call[Any]], Answer]:
    forward: Callable[[Any, memoryview, Call[Any]], Answer] = import_module(
        f"kafkapy.broker.controller.{name}"
    ).forward
    return forward


def _row(key: ApiKey, versions: tuple[int, int], permission: Permission, **where: Any) -> Api:
    return Api(key, versions[0], versions[1], permission, **where)


_BOTH = {"on_controller": True}
_FORWARDED = {"on_controller": True, "is_forwarded": True}
_CONTROLLER = {"on_broker": False, "on_controller": True}

_READ_GROUP = (on_group(Operation.READ),)
_DESCRIBE_CLUSTER = (on_cluster(Operation.DESCRIBE),)
_ALTER_CLUSTER = (on_cluster(Operation.ALTER),)
_CLUSTER_ACTION = (on_cluster(Operation.CLUSTER_ACTION),)
_IN_SHARE_STATE = "CLUSTER_ACTION on Cluster"

K = ApiKey
APIS: tuple[Api, ...] = (
    _row(K.PRODUCE, (3, 13), "WRITE on Topic", advertised_min_version=0),
    _row(K.FETCH, (4, 18), "READ on Topic"),
    _row(K.LIST_OFFSETS, (1, 11), "DESCRIBE on Topic"),
    _row(K.METADATA, (0, 13), "DESCRIBE on Topic"),
    _row(K.OFFSET_COMMIT, (2, 10), "READ on Group and Topic"),
    _row(K.OFFSET_FETCH, (1, 10), "DESCRIBE on Group and Topic"),
    _row(K.FIND_COORDINATOR, (0, 6), "DESCRIBE on Group or TransactionalId"),
    _row(K.JOIN_GROUP, (0, 9), _READ_GROUP),
    _row(K.HEARTBEAT, (0, 4), _READ_GROUP),
    _row(K.LEAVE_GROUP, (0, 5), _READ_GROUP),
    _row(K.SYNC_GROUP, (0, 5), _READ_GROUP),
    _row(K.DESCRIBE_GROUPS, (0, 6), "DESCRIBE on Group"),
    _row(K.LIST_GROUPS, (0, 5), "DESCRIBE on Cluster or Group"),
    _row(K.SASL_HANDSHAKE, (0, 1), (), **_BOTH),
    _row(K.API_VERSIONS, (0, 4), (), **_BOTH),
    _row(
        K.CREATE_TOPICS,
        (2, 7),
        "CREATE on Cluster or Topic",
        handed_on_by="created_topics",
        **_FORWARDED,
    ),
    _row(K.DELETE_TOPICS, (1, 6), "DELETE on Topic", **_FORWARDED),
    _row(K.DELETE_RECORDS, (0, 2), "DELETE on Topic"),
    _row(
        K.INIT_PRODUCER_ID,
        (0, 5),
        "IDEMPOTENT_WRITE on Cluster, or WRITE on TransactionalId or any Topic",
    ),
    _row(K.OFFSET_FOR_LEADER_EPOCH, (2, 4), "DESCRIBE on Topic"),
    _row(K.ADD_PARTITIONS_TO_TXN, (0, 5), "WRITE on TransactionalId and Topic"),
    _row(K.ADD_OFFSETS_TO_TXN, (0, 4), (on_transactional_id(Operation.WRITE), *_READ_GROUP)),
    _row(K.END_TXN, (0, 5), (on_transactional_id(Operation.WRITE),)),
    _row(K.WRITE_TXN_MARKERS, (1, 2), "ALTER or CLUSTER_ACTION on Cluster"),
    _row(
        K.TXN_OFFSET_COMMIT,
        (0, 5),
        "WRITE on TransactionalId, READ on Group and Topic",
    ),
    _row(K.DESCRIBE_ACLS, (1, 3), _DESCRIBE_CLUSTER, **_BOTH),
    _row(K.CREATE_ACLS, (1, 3), "ALTER on Cluster", **_FORWARDED),
    _row(K.DELETE_ACLS, (1, 3), "ALTER on Cluster", **_FORWARDED),
    _row(
        K.DESCRIBE_CONFIGS,
        (1, 4),
        "DESCRIBE_CONFIGS on Cluster, Topic or Group",
        **_BOTH,
    ),
    _row(
        K.ALTER_CONFIGS,
        (0, 2),
        "ALTER_CONFIGS on Cluster, Topic or Group",
        handed_on_by="judging",
        **_FORWARDED,
    ),
    _row(K.ALTER_REPLICA_LOG_DIRS, (1, 2), "ALTER on Cluster"),
    _row(K.DESCRIBE_LOG_DIRS, (1, 5), "DESCRIBE on Cluster"),
    _row(K.SASL_AUTHENTICATE, (0, 2), (), **_BOTH),
    _row(K.CREATE_PARTITIONS, (0, 3), "ALTER on Topic", **_FORWARDED),
    _row(
        K.CREATE_DELEGATION_TOKEN,
        (1, 3),
        "CREATE_TOKENS on User, for another one",
        handed_on_by="token_requests",
        **_FORWARDED,
    ),
    _row(
        K.RENEW_DELEGATION_TOKEN,
        (1, 2),
        "to be the token's owner or renewer",
        handed_on_by="token_requests",
        **_FORWARDED,
    ),
    _row(
        K.EXPIRE_DELEGATION_TOKEN,
        (1, 2),
        "to be the token's owner or renewer",
        handed_on_by="token_requests",
        **_FORWARDED,
    ),
    _row(
        K.DESCRIBE_DELEGATION_TOKEN,
        (1, 3),
        "DESCRIBE on DelegationToken or DESCRIBE_TOKENS on User, of others' tokens",
        **_BOTH,
    ),
    _row(K.DELETE_GROUPS, (0, 2), "DELETE on Group"),
    _row(K.ELECT_LEADERS, (0, 2), "ALTER on Cluster", **_FORWARDED),
    _row(
        K.INCREMENTAL_ALTER_CONFIGS,
        (0, 1),
        "ALTER_CONFIGS on Cluster, Topic or Group",
        handed_on_by="judging",
        **_FORWARDED,
    ),
    _row(
        K.ALTER_PARTITION_REASSIGNMENTS,
        (0, 1),
        _ALTER_CLUSTER,
        **_FORWARDED,
    ),
    _row(
        K.LIST_PARTITION_REASSIGNMENTS,
        (0, 0),
        _DESCRIBE_CLUSTER,
        **_FORWARDED,
    ),
    _row(K.OFFSET_DELETE, (0, 0), "DELETE on Group, READ on Topic"),
    _row(K.DESCRIBE_CLIENT_QUOTAS, (0, 1), (on_cluster(Operation.DESCRIBE_CONFIGS),)),
    _row(K.ALTER_CLIENT_QUOTAS, (0, 1), "ALTER_CONFIGS on Cluster", **_FORWARDED),
    _row(K.DESCRIBE_USER_SCRAM_CREDENTIALS, (0, 0), "DESCRIBE on Cluster", **_BOTH),
    _row(K.ALTER_USER_SCRAM_CREDENTIALS, (0, 0), "ALTER on Cluster", **_FORWARDED),
    _row(K.DESCRIBE_QUORUM, (0, 2), _DESCRIBE_CLUSTER, **_FORWARDED),
    _row(
        K.FETCH,
        (4, 18),
        _CLUSTER_ACTION,
        handler="fetch_metadata_log",
        **_CONTROLLER,
    ),
    _row(K.ENVELOPE, (0, 0), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.VOTE, (0, 2), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.BEGIN_QUORUM_EPOCH, (0, 1), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.END_QUORUM_EPOCH, (0, 1), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.FETCH_SNAPSHOT, (0, 1), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.ALTER_PARTITION, (2, 3), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.UPDATE_FEATURES, (0, 2), _ALTER_CLUSTER, **_FORWARDED),
    _row(K.DESCRIBE_CLUSTER, (0, 2), (), **_BOTH),
    _row(K.DESCRIBE_PRODUCERS, (0, 0), "READ on Topic"),
    _row(
        K.BROKER_REGISTRATION,
        (0, 4),
        _CLUSTER_ACTION,
        **_CONTROLLER,
    ),
    _row(K.BROKER_HEARTBEAT, (0, 2), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.UNREGISTER_BROKER, (0, 0), _ALTER_CLUSTER, **_FORWARDED),
    _row(K.DESCRIBE_TRANSACTIONS, (0, 0), "DESCRIBE on TransactionalId"),
    _row(K.LIST_TRANSACTIONS, (0, 2), "DESCRIBE on TransactionalId"),
    _row(
        K.ALLOCATE_PRODUCER_IDS,
        (0, 0),
        _CLUSTER_ACTION,
        **_CONTROLLER,
    ),
    _row(K.CONSUMER_GROUP_HEARTBEAT, (0, 1), _READ_GROUP),
    _row(K.CONSUMER_GROUP_DESCRIBE, (0, 1), "DESCRIBE on Group"),
    _row(
        K.CONTROLLER_REGISTRATION,
        (0, 0),
        _CLUSTER_ACTION,
        **_CONTROLLER,
    ),
    _row(
        K.ASSIGN_REPLICAS_TO_DIRS,
        (0, 0),
        _CLUSTER_ACTION,
        **_CONTROLLER,
    ),
    _row(K.LIST_CONFIG_RESOURCES, (0, 1), (on_cluster(Operation.DESCRIBE_CONFIGS),)),
    _row(K.DESCRIBE_TOPIC_PARTITIONS, (0, 0), "DESCRIBE on Topic"),
    _row(K.SHARE_GROUP_HEARTBEAT, (1, 1), "READ on Group, DESCRIBE on Topic"),
    _row(K.SHARE_GROUP_DESCRIBE, (1, 1), "DESCRIBE on Group and Topic"),
    _row(K.SHARE_FETCH, (1, 2), "READ on Group and Topic"),
    _row(K.SHARE_ACKNOWLEDGE, (1, 2), "READ on Group and Topic"),
    _row(K.ADD_RAFT_VOTER, (0, 1), _ALTER_CLUSTER, **_FORWARDED),
    _row(K.REMOVE_RAFT_VOTER, (0, 0), _ALTER_CLUSTER, **_FORWARDED),
    _row(K.UPDATE_RAFT_VOTER, (0, 0), _CLUSTER_ACTION, **_CONTROLLER),
    _row(K.INITIALIZE_SHARE_GROUP_STATE, (0, 0), _IN_SHARE_STATE, handler="share_group_state"),
    _row(K.READ_SHARE_GROUP_STATE, (0, 0), _IN_SHARE_STATE, handler="share_group_state"),
    _row(K.WRITE_SHARE_GROUP_STATE, (0, 1), _IN_SHARE_STATE, handler="share_group_state"),
    _row(K.DELETE_SHARE_GROUP_STATE, (0, 0), _IN_SHARE_STATE, handler="share_group_state"),
    _row(K.READ_SHARE_GROUP_STATE_SUMMARY, (0, 1), _IN_SHARE_STATE, handler="share_group_state"),
    _row(
        K.STREAMS_GROUP_HEARTBEAT,
        (0, 0),
        "READ on Group, DESCRIBE on Topic; CREATE on Cluster or Topic for internal topics",
    ),
    _row(K.STREAMS_GROUP_DESCRIBE, (0, 0), "DESCRIBE on Group and Topic"),
    _row(K.DESCRIBE_SHARE_GROUP_OFFSETS, (0, 1), "DESCRIBE on Group and Topic"),
    _row(K.ALTER_SHARE_GROUP_OFFSETS, (0, 0), "READ on Group and Topic"),
    _row(K.DELETE_SHARE_GROUP_OFFSETS, (0, 0), "DELETE on Group, READ on Topic"),
)

# Only where somebody looks at what clients push (broker/telemetry): a node without that neither
# advertises them nor serves them, as Apache Kafka without a reporter for it.
TELEMETRY_APIS: tuple[Api, ...] = (
    _row(K.GET_TELEMETRY_SUBSCRIPTIONS, (0, 0), ()),
    _row(K.PUSH_TELEMETRY, (0, 0), ()),
)

_ON_BROKER = {int(api.key): api for api in (*APIS, *TELEMETRY_APIS) if api.on_broker}
_ON_CONTROLLER = {int(api.key): api for api in APIS if api.on_controller}


def find_api(api_key: int, *, is_controller: bool) -> Api | None:
    return (_ON_CONTROLLER if is_controller else _ON_BROKER).get(api_key)


def apis_on(*, is_controller: bool, has_telemetry: bool = False) -> tuple[Api, ...]:
    """In order of their keys."""
    table = _ON_CONTROLLER if is_controller else _ON_BROKER
    left_out = () if has_telemetry else TELEMETRY_APIS
    return tuple(table[key] for key in sorted(table) if table[key] not in left_out)
