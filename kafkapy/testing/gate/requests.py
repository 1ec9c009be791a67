"""What clients asked, as far as a test wants to know: the API, who, and about what.

Topics are named whatever the request's version calls them. A consumer's later fetches do
not repeat their topics (KIP-227), so the last full set is remembered for its connection.
"""

from collections import deque
from functools import partial
from typing import Any, Final, NamedTuple

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.request import Peer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import RequestHeader

# A consumer left alone asks twice a second; this is hours of it, and a few megabytes.
MAX_REQUESTS: Final = 10_000
_FIELDS_WITH_TOPICS: Final = ("topics", "topic_data", "v3_and_below_topics", "topic_partitions")
_TOPIC_RESOURCE: Final = 2
_FIELDS_WITH_GROUPS: Final = ("groups", "group_ids", "groups_names")
# Session epochs of a fetch that names everything it wants.
_FULL_FETCH: Final = (-1, 0)
# Key types of FindCoordinator; before version 1 there are only groups.
_GROUP, _TRANSACTION, _SHARE = 0, 1, 2


class Request(NamedTuple):
    """One request of a client, in the order they came in."""

    api: str
    version: int
    client_id: str | None
    software: str
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    transactional_id: str | None
    correlation_id: int
    received_ms: int
    fault: str | None


class Requests:
    """The last ten thousand, and what they were about."""

    def __init__(self) -> None:
        self.seen: deque[Request] = deque(maxlen=MAX_REQUESTS)
        self._fetched: dict[Peer, dict[str, set[int]]] = {}

    def fetched(self, peer: Peer) -> dict[str, set[int]]:
        """Topic -> partitions that this connection fetches."""
        return self._fetched.get(peer, {})

    def describe(
        self, node: Node, api: ApiKey, header: RequestHeader, body: Any, peer: Peer
    ) -> Request:
        if api is ApiKey.FETCH:
            topics = tuple(self._follow_fetch(node, body, peer))
        else:
            topics = tuple(dict.fromkeys(_topics(node, body)))
        return Request(
            api.camel_name,
            header.api_version,
            header.client_id,
            peer.software_name,
            topics,
            tuple(_groups(body)),
            _transactional_id(body),
            header.correlation_id,
            int(node.clock.wall()),
            None,
        )

    def _follow_fetch(self, node: Node, body: Any, peer: Peer) -> list[str]:
        fetched = self._fetched.get(peer)
        if fetched is None:
            fetched = self._fetched[peer] = {}
            peer.on_close.append(partial(self._forget, peer))
        if getattr(body, "session_epoch", -1) in _FULL_FETCH:
            fetched.clear()
        for topic in getattr(body, "forgotten_topics_data", ()):
            name = topic_name(node, topic)
            fetched.get(name, set()).difference_update(topic.partitions)
            if not fetched.get(name):
                fetched.pop(name, None)
        for topic in body.topics:
            indexes = {one.partition for one in topic.partitions}
            fetched.setdefault(topic_name(node, topic), set()).update(indexes)
        return list(fetched)

    def _forget(self, peer: Peer) -> None:
        del self._fetched[peer]


def topic_name(node: Node, topic: Any) -> str:
    """Of an element of a request's topics: a name, a struct with one, or with an id."""
    if isinstance(topic, str):
        return topic
    for field in ("name", "topic"):
        name = getattr(topic, field, None)
        if name:
            return str(name)
    known = node.image.topics_by_id.get(getattr(topic, "topic_id", None))  # type: ignore[arg-type]  # None is no topic's id
    return "" if known is None else known.name


def _topics(node: Node, body: Any) -> list[str]:
    found: list[str] = []
    for holder in (body, *(getattr(body, "groups", ()) or ()), *_transactions(body)):
        for field in _FIELDS_WITH_TOPICS:
            found += [topic_name(node, one) for one in getattr(holder, field, None) or ()]
    found += getattr(body, "topic_names", ())
    for one in getattr(body, "resources", ()):
        if one.resource_type == _TOPIC_RESOURCE:
            found.append(one.resource_name)
    found += getattr(body, "subscribed_topic_names", None) or ()
    return found


def _transactions(body: Any) -> tuple[Any, ...]:
    return tuple(getattr(body, "transactions", ()) or ())


def _transactional_id(body: Any) -> str | None:
    if getattr(body, "key_type", _GROUP) == _TRANSACTION:
        return next(iter(_sought(body)), None)
    found: str | None = getattr(body, "transactional_id", None)
    return found


def _sought(body: Any) -> tuple[str, ...]:
    """Whose coordinator a FindCoordinator asks for."""
    one = getattr(body, "key", None)
    return (one,) if one else tuple(getattr(body, "coordinator_keys", ()))


def _groups(body: Any) -> list[str]:
    found = [body.group_id] if getattr(body, "group_id", None) else []
    if getattr(body, "key_type", _GROUP) == _GROUP:
        found += _sought(body)
    elif body.key_type == _SHARE:
        found += [one.partition(":")[0] for one in _sought(body)]  # group:topic id:partition
    for field in _FIELDS_WITH_GROUPS:
        for one in getattr(body, field, None) or ():
            found.append(one if isinstance(one, str) else one.group_id)
    return found
