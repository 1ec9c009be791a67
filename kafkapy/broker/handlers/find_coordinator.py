"""FindCoordinator, v0-6. v1 transactional ids, v4 many keys, v5 KIP-890, v6 share partitions.

The coordinator is the leader of the partition of an internal topic that the key hashes to.
A topic that does not exist yet is created on the way; the client tries again meanwhile.
Keys of share partitions (v6) have the form group:topic id:partition; brokers ask for them.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from kafkapy.broker.metadata.internal_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import optional
from kafkapy.coordinator.partitioning import partition_for
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.error_messages import ERROR_MESSAGES

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.find_coordinator.v3.request import (
        FindCoordinatorRequest as FindCoordinatorRequestV3,
    )
    from kio.schema.find_coordinator.v6.request import FindCoordinatorRequest

    from kafkapy.broker.requests.needs import CreatesTopics, HasCluster, HasImage

    class Needs(CreatesTopics, HasCluster, HasImage, Protocol): ...


HAS_SHARE_KEYS: Final = 6
SHARE: Final = 2
_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, SHARE: SHARE_GROUP_STATE}


class _Found(NamedTuple):
    error: ErrorCode
    node_id: int = -1
    host: str = ""
    port: int = -1


def handle(node: "Needs", call: "Call[FindCoordinatorRequest]") -> Answer:
    key_type = optional(call.body, "key_type", 0)
    if call.version < 4:
        old = cast("FindCoordinatorRequestV3", call.body)
        return _single(_find(node, call, key_type, old.key))
    rows = [(key, _find(node, call, key_type, key)) for key in call.body.coordinator_keys]
    return {"throttle_time": 0, "coordinators": [_row(key, key_type, found) for key, found in rows]}


def _find(node: "Needs", call: "Call[FindCoordinatorRequest]", key_type: int, key: str) -> _Found:
    name = _TOPICS.get(key_type)
    if name is None or (key_type == SHARE and not _is_share_key(call, key)):
        return _Found(ErrorCode.INVALID_REQUEST)
    topic = node.image.topics_by_name.get(name)
    if topic is None:
        node.auto_create_topic(name)
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = topic.partitions.get(partition_for(key, len(topic.partitions)))
    if partition is not None:
        for broker in node.cluster.brokers(call.peer.listener):
            if broker.node_id == partition.leader:
                return _Found(ErrorCode.NONE, broker.node_id, broker.host, broker.port)
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
