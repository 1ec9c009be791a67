"""A client on a machine of its own: real frames, routed by Metadata as stock clients do.

    an actor asks (sim/clients/actors.py) --> whom? --> Wire --> answer, or LOST
                                                |
      a partition's leader by Metadata, a coordinator by FindCoordinator, or any broker

What was learned is forgotten when somebody says that it is wrong, or does not answer.
"""

import functools
from collections.abc import Callable, Generator, Hashable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.core.addresses import Address
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Heard, Playing, Sleep, Together
from kafkapy.sim.cluster.clients.wire import Wire
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.promises.partitions import BrokenPromise

E: Final = ErrorCode
REQUEST_TIMEOUT_MS: Final = 6_000
RETRY_MS: Final = 60
_METADATA_VERSION: Final = 12
_GROUP, _TRANSACTION = 0, 1
_WRONG_ROUTE: Final = frozenset(
    {
        E.NOT_LEADER_OR_FOLLOWER,
        E.LEADER_NOT_AVAILABLE,
        E.FENCED_LEADER_EPOCH,
        E.UNKNOWN_LEADER_EPOCH,
        E.UNKNOWN_TOPIC_OR_PARTITION,
        E.KAFKA_STORAGE_ERROR,
        E.NOT_COORDINATOR,
        E.COORDINATOR_NOT_AVAILABLE,
        E.NOT_CONTROLLER,
        E.REQUEST_TIMED_OUT,
    }
)

Talk = Generator[Ask | Together | Sleep, Any, Any]


class Leader(NamedTuple):
    node_id: int
    epoch: int


class ClusterClient:
    """`name` is its machine's."""

    def __init__(self, world: ClusterWorld, name: str) -> None:
        self.name = name
        self.leaders: dict[tuple[str, int], Leader] = {}
        self._world = world
        self._clock = world.clock
        self._wire = Wire(world, name)
        self._coordinators: dict[tuple[int, str], int] = {}
        self._epochs: dict[tuple[str, int], int] = {}
        self._any: int | None = None
        self._playing: list[Playing] = []

    def play(self, actor: Actor) -> Playing:
        """Lets an actor of a single node (or one that knows whom it asks) act here."""
        playing = Playing(self._clock, self._routed(actor), self._send)
        self._playing.append(playing)
        playing.resume(None)
        return playing

    @property
    def is_over(self) -> bool:
        return all(one.is_done for one in self._playing)

    # Whom.

    def _routed(self, actor: Actor) -> Actor:
        heard: Any = None
        while True:
            try:
                wish = actor.send(heard)
            except StopIteration:
                return
            if isinstance(wish, Sleep):
                yield wish
                heard = None
            elif isinstance(wish, Ask):
                (heard,) = yield from self._ask((wish,))
            else:
                heard = yield from self._ask(wish.asks)

    def _ask(self, asks: tuple[Ask, ...]) -> Talk:
        """All of one route, in this order."""
        route = _route_of(asks[0])
        to = asks[0].to
        if to is None:
            to = yield from self._whom(route)
        if to is None:
            yield Sleep(RETRY_MS)
            return [LOST] * len(asks)
        answers = yield Together(tuple(self._known(one, route)._replace(to=to) for one in asks))
        if any(
            answer is LOST or _WRONG_ROUTE.intersection(errors_in(answer)) for answer in answers
        ):
            self._forget(route)
            yield Sleep(RETRY_MS)
        return answers

    def _known(self, ask: Ask, route: Hashable) -> Ask:
        """A fetch says in which epoch it takes whom it asks for the leader: a follower, which
        answers consumers as well, may have less."""
        if ask.api_key is not ApiKey.FETCH or not isinstance(route, _Partition):
            return ask
        (topic,) = ask.body["topics"]
        (row,) = topic["partitions"]
        epoch = self.leaders[route].epoch if route in self.leaders else -1
        told = {**topic, "partitions": [{**row, "current_leader_epoch": epoch}]}
        return ask._replace(body={**ask.body, "topics": [told]})

    def _whom(self, route: Hashable) -> Talk:
        if route is None:
            if self._any is None:
                self._any = self._wire.rng.choice(sorted(self._wire.addresses))
            return self._any
        if isinstance(route, _Partition):
            if route not in self.leaders:
                yield from self._learn()
            leader = self.leaders.get(route)
            return None if leader is None else leader.node_id
        assert isinstance(route, _Coordinator), route
        if route not in self._coordinators:
            yield from self._find(route)
        return self._coordinators.get(route)

    def _learn(self) -> Talk:
        """Metadata of everything, from anybody."""
        to = yield from self._whom(None)
        body = {"topics": None, "allow_auto_topic_creation": False}
        answer = yield Ask(ApiKey.METADATA, _METADATA_VERSION, body, to)
        if answer is LOST:
            self._any = None
            return
        for broker in answer.brokers:
            self._wire.addresses[broker.node_id] = Address(broker.host, broker.port)
        for topic in answer.topics:
            for row in topic.partitions:
                self._note_leader(_Partition(topic.name, row.partition_index), row)

    def _note_leader(self, partition: "_Partition", row: Any) -> None:
        """An older epoch than one known is news of yesterday, unless the topic is a new one."""
        known = self._epochs.get(partition, -1)
        if row.leader_id >= 0 and row.leader_epoch >= known:
            self._epochs[partition] = row.leader_epoch
            self.leaders[partition] = Leader(row.leader_id, row.leader_epoch)

    def _find(self, route: "_Coordinator") -> Talk:
        to = yield from self._whom(None)
        body = {"key_type": route.key_type, "coordinator_keys": [route.key]}
        answer = yield Ask(ApiKey.FIND_COORDINATOR, 4, body, to)
        if answer is LOST:
            self._any = None
            return
        found = answer.coordinators[0]
        if found.error_code == 0:
            self._wire.addresses[found.node_id] = Address(found.host, found.port)
            self._coordinators[route] = found.node_id

    def _forget(self, route: Hashable) -> None:
        self._any = None
        if isinstance(route, _Partition):
            self.leaders.pop(route, None)
        elif isinstance(route, _Coordinator):
            self._coordinators.pop(route, None)

    def topic_is_new(self, topic: str) -> None:
        """Deleted and made again: its epochs begin anew."""
        for known in [one for one in self._epochs if one[0] == topic]:
            del self._epochs[known]
            self.leaders.pop(known, None)

    # Over the wire.

    def _send(self, wish: Ask, then: Heard) -> None:
        assert wish.to is not None, wish

        def answered(answer: Any) -> None:
            if isinstance(answer, CallFailed):
                if answer.why in (Why.UNSUPPORTED, Why.NONSENSE):
                    raise BrokenPromise(f"{self.name}: {wish.api_key.name}: {answer}")
                then(LOST)
            else:
                then(answer)

        self._wire.call(
            wish.to,
            wish.api_key,
            wish.body,
            answered,
            versions=(wish.version, wish.version),
            timeout_ms=REQUEST_TIMEOUT_MS,
        )


class _Partition(NamedTuple):
    topic: str
    partition: int


class _Coordinator(NamedTuple):
    key_type: int
    key: str


def _route_of(ask: Ask) -> Hashable:
    """Whom a request is for; None: any broker."""
    found = _ROUTES.get(ask.api_key)
    return None if found is None else found(ask.body)


def _by_topic(topics: str, name: str, partitions: str, index: str, body: Any) -> _Partition:
    topic = body[topics][0]
    return _Partition(topic[name], topic[partitions][0][index])


def _by_group(body: Any) -> _Coordinator:
    return _Coordinator(_GROUP, body["group_id"] if "group_id" in body else _first_group(body))


def _first_group(body: Any) -> str:
    return str(body["groups"][0]["group_id"])


def _by_transaction(body: Any) -> _Coordinator | None:
    name = body.get("transactional_id", body.get("v3_and_below_transactional_id"))
    return None if name is None else _Coordinator(_TRANSACTION, name)


_ROUTES: Final[dict[ApiKey, Callable[[Any], Hashable]]] = {
    ApiKey.PRODUCE: partial(_by_topic, "topic_data", "name", "partition_data", "index"),
    ApiKey.FETCH: partial(_by_topic, "topics", "topic", "partitions", "partition"),
    ApiKey.LIST_OFFSETS: partial(_by_topic, "topics", "name", "partitions", "partition_index"),
    ApiKey.INIT_PRODUCER_ID: _by_transaction,
    ApiKey.ADD_PARTITIONS_TO_TXN: _by_transaction,
    ApiKey.ADD_OFFSETS_TO_TXN: _by_transaction,
    ApiKey.END_TXN: _by_transaction,
    ApiKey.TXN_OFFSET_COMMIT: _by_group,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _by_group,
    ApiKey.SHARE_GROUP_HEARTBEAT: _by_group,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _by_group,
    ApiKey.JOIN_GROUP: _by_group,
    ApiKey.SYNC_GROUP: _by_group,
    ApiKey.HEARTBEAT: _by_group,
    ApiKey.LEAVE_GROUP: _by_group,
    ApiKey.OFFSET_COMMIT: _by_group,
    ApiKey.OFFSET_FETCH: _by_group,
}


_PLAIN: Final = (int, float, bool, str, bytes, UUID, str | None, bytes | None)


def errors_in(answer: Any) -> Iterator[int]:
    """Every error code in a decoded answer, wherever it stands."""
    if isinstance(answer, tuple):
        for one in answer:
            yield from errors_in(one)
    elif is_dataclass(answer):
        codes, others = _fields_of(answer.__class__)
        for name in codes:
            yield int(getattr(answer, name))
        for name in others:
            yield from errors_in(getattr(answer, name))


@functools.cache
def _fields_of(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those with an error code, and those below which there may be more."""
    codes = [one.name for one in fields(cls) if one.name.endswith("error_code")]
    others = [one.name for one in fields(cls) if one.type not in _PLAIN and one.name not in codes]
    return tuple(codes), tuple(others)
