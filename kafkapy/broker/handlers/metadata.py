"""Metadata, v0-13. v4 auto-creation is asked for, v8 authorized operations, v10 topic ids
in the answer, v12 topic ids in the request, v13 a top-level error.

The answer about all topics is encoded once per version and listener and kept until the
metadata changes: with 10,000 partitions it is the one answer that costs something. About what a
leader led that may have died a moment ago the answer waits (metadata/leaders_in_doubt.py), and who
did stays among the brokers for a while (metadata/recently_dead.py).
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkapy.broker.metadata.authorized_operations import NOT_ASKED
from kafkapy.broker.metadata.internal_topics import INTERNAL_TOPICS
from kafkapy.broker.metadata.topic_names import is_legal_topic_name
from kafkapy.broker.requests.request import Answer, Call, Encoded, Later, Resolved
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import (
    allows,
    authorized_operations,
    cluster_operations,
    would_allow,
)
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.views import partitions_of
from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.messages import encode_response

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.metadata.v13.request import MetadataRequest, MetadataRequestTopic

    from kafkapy.broker.metadata.leaders_in_doubt import LeadersInDoubt
    from kafkapy.broker.metadata.recently_dead import RecentlyDead
    from kafkapy.broker.requests.needs import (
        CreatesTopics,
        HasAuthorizer,
        HasCluster,
        HasConfig,
        HasImage,
        HasNodeId,
    )

    class Needs(HasAuthorizer, CreatesTopics, HasCluster, HasConfig, HasImage, HasNodeId, Protocol):
        @property
        def encoded_metadata(self) -> dict[tuple[int, str], bytes]: ...

        @property
        def leaders_in_doubt(self) -> LeadersInDoubt: ...

        @property
        def recently_dead(self) -> RecentlyDead: ...


def handle(node: "Needs", call: "Call[MetadataRequest]") -> Answer:
    if not _leaders_elsewhere(node, call):
        return _answer(node, call)
    answer = Later()
    node.leaders_in_doubt.when_sure(
        lambda: _leaders_elsewhere(node, call), lambda: answer.resolve(_answer(node, call))
    )
    return answer


def _leaders_elsewhere(node: "Needs", call: "Call[MetadataRequest]") -> Set[int]:
    """Brokers that would be named as leaders; whoever is alive, if all topics are asked for."""
    alive = {
        broker.id
        for broker in node.image.brokers.values()
        if not broker.fenced and broker.id != node.node_id
    }
    if not alive or _wants_all(call):
        return alive
    topics = _asked_about(node, call)
    return alive & {one.leader for topic in topics for one in topic.partitions.values()}


def _wants_all(call: "Call[MetadataRequest]") -> bool:
    """v0 has no null: an empty list asks for all topics there."""
    asked = call.body.topics
    return asked is None or (call.version == 0 and not asked)


def _asked_about(node: "Needs", call: "Call[MetadataRequest]") -> "Iterator[TopicState]":
    """Some topics."""
    image = node.image
    for one in call.body.topics or ():
        found = image.topics_by_name.get(one.name) if one.name is not None else None
        if found is None and (topic_id := optional(one, "topic_id", None)) is not None:
            found = image.topics_by_id.get(topic_id)
        if found is not None:
            yield found


def _answer(node: "Needs", call: "Call[MetadataRequest]") -> Resolved:
    body = call.body
    asked = body.topics or ()
    wants_all = _wants_all(call)
    if not wants_all and call.version < 12 and _asks_by_id(asked):
        return _refused(call, asked)
    with_operations = optional(body, "include_topic_authorized_operations", False)
    if wants_all:
        seen = _seen(node, call)
        if len(seen) == len(node.image.topics_by_name) and not (
            with_operations or _asks_for_cluster_operations(call)
        ):
            return _everything(node, call)
        topics = [_topic(node, call, topic) for topic in seen]
    else:
        topics = _asked(node, call, asked)
    if with_operations:
        for row in topics:
            name = row["name"]
            if name is not None and row["error_code"] != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                row["topic_authorized_operations"] = authorized_operations(
                    node, call, ResourceType.TOPIC, name
                )
    return _response(node, call, topics)


def _seen(node: "Needs", call: "Call[MetadataRequest]") -> Sequence[TopicState]:
    """All topics that this client may know of; of others it hears nothing."""
    topics = tuple(node.image.topics_by_name.values())
    if node.authorizer is None:
        return topics
    kind = ResourceType.TOPIC
    return [one for one in topics if would_allow(node, call, Operation.DESCRIBE, kind, one.name)]


def _asks_for_cluster_operations(call: "Call[MetadataRequest]") -> bool:
    """v8 to v10."""
    return bool(optional(call.body, "include_cluster_authorized_operations", False))


def _asks_by_id(topics: "Sequence[MetadataRequestTopic]") -> bool:
    return any(one.name is None or optional(one, "topic_id", None) for one in topics)


def _refused(
    call: "Call[MetadataRequest]", topics: "Sequence[MetadataRequestTopic]"
) -> Mapping[str, Any]:
    """v10 and v11 tell topic ids but do not take them: INVALID_REQUEST, topic by topic, and
    nothing about the cluster."""
    return {
        "throttle_time": 0,
        "brokers": (),
        "cluster_id": None,
        "controller_id": -1,
        "topics": [
            _missing(call, one.name, optional(one, "topic_id", None), ErrorCode.INVALID_REQUEST)
            for one in topics
        ],
        "cluster_authorized_operations": NOT_ASKED,
    }


def _everything(node: "Needs", call: "Call[MetadataRequest]") -> Encoded:
    key = (call.version, call.peer.listener)
    body = node.encoded_metadata.get(key)
    if body is None:
        topics = [_topic(node, call, topic) for topic in node.image.topics_by_name.values()]
        body = encode_response(call.api_key, call.version, _response(node, call, topics))
        node.encoded_metadata[key] = body
    head = response_head(call.api_key, call.version, call.correlation_id)
    return Encoded((frame(head, body),))


def _response(
    node: "Needs", call: "Call[MetadataRequest]", topics: list[dict[str, Any]]
) -> Mapping[str, Any]:
    operations = NOT_ASKED
    if _asks_for_cluster_operations(call):
        operations = cluster_operations(node, call)
    return {
        "throttle_time": 0,
        "brokers": [
            {"node_id": one.node_id, "host": one.host, "port": one.port, "rack": one.rack}
            for one in node.cluster.brokers_for_clients(
                call.peer.listener, node.node_id, node.recently_dead
            )
        ],
        "cluster_id": node.cluster_id,
        # KRaft tells clients some broker: whoever it is forwards to the controller.
        "controller_id": node.node_id,
        "topics": topics,
        "cluster_authorized_operations": operations,
        "error_code": 0,
    }


def _asked(
    node: "Needs", call: "Call[MetadataRequest]", topics: "Sequence[MetadataRequestTopic]"
) -> list[dict[str, Any]]:
    """Each topic once, however often it is asked about; with an id among them, those with
    ids only, as Kafka does."""
    ids = dict.fromkeys(optional(one, "topic_id", None) for one in topics)
    ids.pop(None, None)
    if ids:
        return [_by_id(node, call, topic_id) for topic_id in ids]
    names = dict.fromkeys(one.name for one in topics)
    return [_by_name(node, call, name) for name in names]


def _by_id(node: "Needs", call: "Call[MetadataRequest]", topic_id: UUID) -> dict[str, Any]:
    found = node.image.topics_by_id.get(topic_id)
    if found is None:
        return _missing(call, None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
    if not allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, found.name):
        return _missing(call, None, topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return _topic(node, call, found)


def _by_name(node: "Needs", call: "Call[MetadataRequest]", name: str | None) -> dict[str, Any]:
    found = None if name is None else node.image.topics_by_name.get(name)
    # Of what can be no topic nobody is refused anything that the journal should hear of.
    may = allows if found is not None or is_legal_topic_name(name or "") else would_allow
    if not may(node, call, Operation.DESCRIBE, ResourceType.TOPIC, name or ""):
        return _missing(call, name, None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if found is not None:
        return _topic(node, call, found)
    return _missing(call, name, None, _create_if_asked(node, call, name or ""))


def _create_if_asked(node: "Needs", call: "Call[MetadataRequest]", name: str) -> ErrorCode:
    creates = node.config.auto_create_topics_enable and optional(
        call.body, "allow_auto_topic_creation", True
    )
    is_legal = is_legal_topic_name(name)
    if creates and not _may_create(node, call, name, is_legal=is_legal):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if not is_legal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if creates:
        return node.auto_create_topic(name)
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _may_create(node: "Needs", call: "Call[MetadataRequest]", name: str, *, is_legal: bool) -> bool:
    may = allows if is_legal else would_allow
    return would_allow(node, call, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME) or may(
        node, call, Operation.CREATE, ResourceType.TOPIC, name
    )


def _missing(
    call: "Call[MetadataRequest]", name: str | None, topic_id: UUID | None, code: ErrorCode
) -> dict[str, Any]:
    return {
        "error_code": code,
        # Before v12 a name cannot be null.
        "name": "" if name is None and call.version < 12 else name,
        "topic_id": topic_id,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": (),
    }


def _topic(node: "Needs", call: "Call[MetadataRequest]", topic: TopicState) -> dict[str, Any]:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.name in INTERNAL_TOPICS,
        "partitions": [
            _partition(node, call, index, state)
            for index, state in partitions_of(node.image, topic).items()
        ],
    }


def _partition(
    node: "Needs", call: "Call[MetadataRequest]", index: int, state: PartitionState
) -> dict[str, Any]:
    code = ErrorCode.NONE
    leader = state.leader
    if not node.cluster.is_reachable(leader, call.peer.listener):
        leader = -1
        has_leader = state.has_leader and call.version >= 6
        code = ErrorCode.LISTENER_NOT_FOUND if has_leader else ErrorCode.LEADER_NOT_AVAILABLE
    return {
        "error_code": code,
        "partition_index": index,
        "leader_id": leader,
        "leader_epoch": state.leader_epoch,
        "replica_nodes": state.replicas,
        "isr_nodes": state.isr,
        "offline_replicas": node.cluster.offline_replicas(state),
    }
