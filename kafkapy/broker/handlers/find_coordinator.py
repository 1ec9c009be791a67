"""FindCoordinator, v0-6. v1 transactional ids, v4 many keys, v5 KIP-890, v6 share partitions.

The coordinator is the leader of the partition of an internal topic that the key hashes to.
A topic that does not exist yet is created on the way; the client tries again meanwhile.
Where this node is the coordinator but has not loaded the partition yet, the answer waits for
that, for a second at most: who hears it may ask at once. (Apache Kafka answers before, and
its clients meet NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS and come again.)
Where another broker is, that one is asked for a sign of life (metadata/signs_of_life.py).
Keys of share partitions (v6) have the form group:topic id:partition; brokers ask for them.
"""

from collections.abc import Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from kafkapy.broker.metadata.internal_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import allows, allows_on_cluster, refusal_of
from kafkapy.coordinator.partitioning import partition_for
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import later
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.error_messages import ERROR_MESSAGES

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.find_coordinator.v3.request import (
        FindCoordinatorRequest as FindCoordinatorRequestV3,
    )
    from kio.schema.find_coordinator.v6.request import FindCoordinatorRequest

    from kafkapy.broker.metadata.leaders_in_doubt import LeadersInDoubt
    from kafkapy.broker.requests.needs import (
        CreatesTopics,
        HasAuthorizer,
        HasClock,
        HasCluster,
        HasGroups,
        HasImage,
        HasNodeId,
        HasShares,
        HasTransactions,
    )

    class Needs(
        HasAuthorizer,
        CreatesTopics,
        HasClock,
        HasCluster,
        HasGroups,
        HasImage,
        HasNodeId,
        HasShares,
        HasTransactions,
        Protocol,
    ):
        @property
        def leaders_in_doubt(self) -> LeadersInDoubt: ...


HAS_SHARE_KEYS: Final = 6
GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
# Loading takes some milliseconds, seconds if there is much of it. The request has no time of
# its own; what else its connection asked waits behind it, so the client may rather ask again.
PATIENCE_MS: Final = 1_000
_TOPICS: Final = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE, SHARE: SHARE_GROUP_STATE}


class _Found(NamedTuple):
    error: ErrorCode
    node_id: int = -1
    host: str = ""
    port: int = -1
    partition: int = -1


def handle(node: "Needs", call: "Call[FindCoordinatorRequest]") -> Answer:
    found = _find_all(node, call)
    if not _elsewhere(node, found):
        return _when_loaded(node, call, found)
    promise = Later()
    node.leaders_in_doubt.when_sure(
        lambda: _elsewhere(node, _find_all(node, call)),
        lambda: _pass_on(_when_loaded(node, call, _find_all(node, call)), promise),
    )
    return promise


def _pass_on(answer: Answer, promise: Later) -> None:
    if isinstance(answer, Later):
        answer.when_resolved(lambda later_on: promise.resolve(later_on.answer))
    else:
        promise.resolve(answer)


def _elsewhere(node: "Needs", found: "Sequence[_Found]") -> Set[int]:
    """The coordinators that are other brokers."""
    return {one.node_id for one in found if one.node_id not in (node.node_id, -1)}


def _when_loaded(
    node: "Needs", call: "Call[FindCoordinatorRequest]", found: "Sequence[_Found]"
) -> Answer:
    key_type, keys = _key_type(call), _keys(call)
    shards = _shards(node, key_type)
    loading = {
        one.partition
        for one in found
        if one.node_id == node.node_id and not shards.is_active(one.partition)
    }
    if not loading:
        return _answer(call, key_type, keys, found)
    promise = Later()

    def loaded(partition: int) -> None:
        loading.discard(partition)
        if not loading:
            resolve()

    def resolve() -> None:
        if not promise.is_resolved:
            timer.cancel()
            promise.resolve(_answer(call, key_type, keys, found))

    timer = node.clock.call_at(later(node.clock.now(), PATIENCE_MS), resolve)
    for partition in tuple(loading):
        shards.when_active(partition, partial(loaded, partition))
    return promise


def _key_type(call: "Call[FindCoordinatorRequest]") -> int:
    return int(optional(call.body, "key_type", GROUP))


def _find_all(node: "Needs", call: "Call[FindCoordinatorRequest]") -> "Sequence[_Found]":
    return [_find(node, call, _key_type(call), key) for key in _keys(call)]


def _keys(call: "Call[FindCoordinatorRequest]") -> Sequence[str]:
    if call.version < 4:
        return (cast("FindCoordinatorRequestV3", call.body).key,)
    return tuple(call.body.coordinator_keys)


def _shards(node: "Needs", key_type: int) -> Shards[Any, Any]:
    """Who must be there to answer."""
    if key_type == SHARE:
        return node.shares.shards
    return node.transactions.shards if key_type == TRANSACTION else node.groups


def _answer(
    call: "Call[FindCoordinatorRequest]",
    key_type: int,
    keys: Sequence[str],
    found: Sequence[_Found],
) -> Fields:
    if call.version < 4:
        return _single(found[0])
    rows = [_row(key, key_type, one) for key, one in zip(keys, found, strict=True)]
    return {"throttle_time": 0, "coordinators": rows}


def _find(node: "Needs", call: "Call[FindCoordinatorRequest]", key_type: int, key: str) -> _Found:
    name = _TOPICS.get(key_type)
    if name is None or (key_type == SHARE and not _is_share_key(call, key)):
        return _Found(ErrorCode.INVALID_REQUEST)
    if key_type != SHARE:
        kind = ResourceType.GROUP if key_type == GROUP else ResourceType.TRANSACTIONAL_ID
        if not allows(node, call, Operation.DESCRIBE, kind, key):
            return _Found(refusal_of(kind))
    elif not allows_on_cluster(node, call, Operation.CLUSTER_ACTION):
        return _Found(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    topic = node.image.topics_by_name.get(name)
    if topic is None:
        node.auto_create_topic(name)
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    index = partition_for(key, len(topic.partitions))
    partition = topic.partitions.get(index)
    if partition is not None:
        for broker in node.cluster.brokers(call.peer.listener):
            if broker.node_id == partition.leader:
                return _Found(ErrorCode.NONE, broker.node_id, broker.host, broker.port, index)
    return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _is_share_key(call: "Call[FindCoordinatorRequest]", key: str) -> bool:
    group_id, _, rest = key.partition(":")
    topic_id, _, partition = rest.partition(":")
    return call.version >= HAS_SHARE_KEYS and bool(group_id and topic_id and partition.isdigit())


def _single(found: _Found) -> dict[str, Any]:
    is_found = found.error is ErrorCode.NONE
    return {
        "throttle_time": 0,
        "error_code": found.error,
        "error_message": "NONE" if is_found else ERROR_MESSAGES[found.error],
        "node_id": found.node_id,
        "host": found.host,
        "port": found.port,
    }


def _row(key: str, key_type: int, found: _Found) -> dict[str, Any]:
    """Only a kind of key that nobody knows is explained, as by Kafka."""
    return {
        "key": key,
        "node_id": found.node_id,
        "host": found.host,
        "port": found.port,
        "error_code": found.error,
        "error_message": "" if key_type in _TOPICS else ERROR_MESSAGES[found.error],
    }
