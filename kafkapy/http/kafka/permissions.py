"""What a principal needs for a request that this node hands to another broker under its own name.

A request that this node serves itself, or envelopes for the controller, is judged where it is
served. Another broker sees the node ask, which may do everything: what would have been asked there
is asked here first. What is not in this table is not handed on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.config.resources import Resource
from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.asking import refusal_of
from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

Body = Mapping[str, Any]
Needed = tuple[Operation, ResourceType, str]
_O, _R, K = Operation, ResourceType, ApiKey


def require(node: "Node", peer: Peer, api: ApiKey, body: Body) -> None:
    """On the node's loop. KafkaError for the first thing that is lacking."""
    needs = _NEEDS.get(api)
    if needs is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{api.name} is not handed to other brokers")
    require_each(node, peer, needs(body))


def require_each(node: "Node", peer: Peer, needed: Iterable[Needed]) -> None:
    """The same of what is named."""
    if node.authorizer is None:
        return
    for operation, resource_type, name in needed:
        if not node.authorizer.allows(peer, operation, resource_type, name):
            raise KafkaError(refusal_of(resource_type), name)


def allowed(
    node: "Node",
    peer: Peer,
    operation: Operation,
    resource_type: ResourceType,
    names: Iterable[str],
) -> set[str]:
    """On the node's loop: those of `names`; nobody is told of a refusal."""
    authorizer = node.authorizer
    if authorizer is None:
        return set(names)
    return {one for one in names if authorizer.would_allow(peer, operation, resource_type, one)}


def _topics(operation: Operation, field: str, name: str) -> Callable[[Body], Iterator[Needed]]:
    def needs(body: Body) -> Iterator[Needed]:
        for one in body[field] or ():
            yield operation, _R.TOPIC, one[name]

    return needs


def _each(operation: Operation, kind: ResourceType, field: str) -> Callable[[Body], Any]:
    return lambda body: [(operation, kind, name) for name in body[field]]


def _one(operation: Operation, kind: ResourceType, field: str) -> Callable[[Body], Any]:
    return lambda body: [(operation, kind, body[field])]


def _cluster(operation: Operation) -> Callable[[Body], Any]:
    return lambda body: [(operation, _R.CLUSTER, CLUSTER_NAME)]


def _produce(body: Body) -> Iterator[Needed]:
    if body.get("transactional_id") is not None:
        yield _O.WRITE, _R.TRANSACTIONAL_ID, body["transactional_id"]
    yield from _topics(_O.WRITE, "topic_data", "name")(body)


def _init_producer_id(body: Body) -> Iterator[Needed]:
    """Of a transactional id; without one, this node gives the id itself."""
    yield _O.WRITE, _R.TRANSACTIONAL_ID, body["transactional_id"]


def _of_group(
    operation: Operation, on_topics: Operation | None, name: str = "name"
) -> Callable[[Body], Any]:
    def needs(body: Body) -> Iterator[Needed]:
        yield operation, _R.GROUP, body["group_id"]
        if on_topics is not None:
            yield from _topics(on_topics, "topics", name)(body)

    return needs


def _offset_fetch(body: Body) -> Iterator[Needed]:
    """Whoever asks for all topics is shown those that it may see (client.py)."""
    for group in body["groups"]:
        yield _O.DESCRIBE, _R.GROUP, group["group_id"]
        for topic in group["topics"] or ():
            yield _O.DESCRIBE, _R.TOPIC, topic["name"]


def _group_heartbeat(body: Body) -> Iterator[Needed]:
    yield _O.READ, _R.GROUP, body["group_id"]
    for name in body.get("subscribed_topic_names") or ():
        yield _O.DESCRIBE, _R.TOPIC, name


def _configs(operation: Operation) -> Callable[[Body], Iterator[Needed]]:
    def needs(body: Body) -> Iterator[Needed]:
        for one in body["resources"]:
            if one["resource_type"] == Resource.TOPIC:
                yield operation, _R.TOPIC, one["resource_name"]
            elif one["resource_type"] == Resource.GROUP:
                yield operation, _R.GROUP, one["resource_name"]
            else:
                yield operation, _R.CLUSTER, CLUSTER_NAME

    return needs


def _share_offsets(body: Body) -> Iterator[Needed]:
    """Of all topics only those are shown that the principal may see (groups.py)."""
    for group in body["groups"]:
        yield _O.DESCRIBE, _R.GROUP, group["group_id"]
        for topic in group["topics"] or ():
            yield _O.DESCRIBE, _R.TOPIC, topic["topic_name"]


def _change_of_broker(body: Body) -> Iterator[Needed]:
    """Of a broker's own settings, which that broker judges; all else this node is asked."""
    if any(one["resource_type"] != Resource.BROKER for one in body["resources"]):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "only brokers' settings are handed on")
    yield from _configs(_O.ALTER_CONFIGS)(body)


def _nothing(body: Body) -> tuple[Needed, ...]:
    """Its answer is filtered by who asks (client.py)."""
    return ()


_NEEDS: Final[Mapping[ApiKey, Callable[[Body], Iterable[Needed]]]] = {
    K.PRODUCE: _produce,
    K.INIT_PRODUCER_ID: _init_producer_id,
    K.FETCH: _topics(_O.READ, "topics", "topic"),
    K.LIST_OFFSETS: _topics(_O.DESCRIBE, "topics", "name"),
    K.OFFSET_FOR_LEADER_EPOCH: _topics(_O.DESCRIBE, "topics", "topic"),
    K.DELETE_RECORDS: _topics(_O.DELETE, "topics", "name"),
    K.DESCRIBE_PRODUCERS: _topics(_O.READ, "topics", "name"),
    K.DESCRIBE_LOG_DIRS: _cluster(_O.DESCRIBE),
    K.DESCRIBE_CONFIGS: _configs(_O.DESCRIBE_CONFIGS),
    K.INCREMENTAL_ALTER_CONFIGS: _change_of_broker,
    K.OFFSET_COMMIT: _of_group(_O.READ, _O.READ),
    K.OFFSET_FETCH: _offset_fetch,
    K.OFFSET_DELETE: _of_group(_O.DELETE, _O.READ),
    K.DELETE_GROUPS: _each(_O.DELETE, _R.GROUP, "groups_names"),
    K.DESCRIBE_GROUPS: _each(_O.DESCRIBE, _R.GROUP, "groups"),
    K.CONSUMER_GROUP_DESCRIBE: _each(_O.DESCRIBE, _R.GROUP, "group_ids"),
    K.STREAMS_GROUP_DESCRIBE: _each(_O.DESCRIBE, _R.GROUP, "group_ids"),
    K.SHARE_GROUP_DESCRIBE: _each(_O.DESCRIBE, _R.GROUP, "group_ids"),
    K.DESCRIBE_SHARE_GROUP_OFFSETS: _share_offsets,
    K.ALTER_SHARE_GROUP_OFFSETS: _of_group(_O.READ, _O.READ, "topic_name"),
    K.LIST_GROUPS: _nothing,
    K.JOIN_GROUP: _of_group(_O.READ, None),
    K.SYNC_GROUP: _of_group(_O.READ, None),
    K.HEARTBEAT: _of_group(_O.READ, None),
    K.LEAVE_GROUP: _of_group(_O.READ, None),
    K.CONSUMER_GROUP_HEARTBEAT: _group_heartbeat,
    K.DESCRIBE_TRANSACTIONS: _each(_O.DESCRIBE, _R.TRANSACTIONAL_ID, "transactional_ids"),
    K.LIST_TRANSACTIONS: _nothing,
}
