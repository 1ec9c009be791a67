"""A node with a group coordinator and nothing else, spoken to in bytes."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from kafkapy.broker.requests.dispatch import encode
from kafkapy.broker.requests.request import Call, Later, Peer, Resolved
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.coordinator.shards import Shards
from kafkapy.group.machine import GroupMachine
from kafkapy.group.settings import Bounded
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.messages import decode_request, decode_response, encode_request
from tests.coordinator.fakes import MemoryLog
from tests.group.world import World


class Told:
    """A client waiting for its answer, read from the bytes of its version."""

    def __init__(self, call: Call[Any]) -> None:
        self._call = call
        self.answer: Any = None

    @property
    def is_waiting(self) -> bool:
        return self.answer is None

    def __call__(self, later: Later) -> None:
        self.resolve(later.answer)

    def resolve(self, answer: Resolved) -> None:
        api_key, version = self._call.api_key, self._call.version
        [frame] = encode(self._call, answer)
        assert isinstance(frame, bytes)
        whole = memoryview(frame)[4:]
        _, body_at = read_response_head(api_key, version, whole)
        self.answer = decode_response(api_key, version, whole[body_at:])


class FakeRng:
    def __init__(self) -> None:
        self.drawn = 0

    def uuid(self) -> UUID:
        self.drawn += 1
        return UUID(int=self.drawn)


class GroupNode:
    def __init__(self, *, leads: bool = True, **settings: Any) -> None:
        self.world = World(
            initial_rebalance_delay_ms=0,
            consumer_assignment_interval_ms=Bounded(0, 0, 15_000),
            **settings,
        )
        for name, partitions in (("orders", 4), ("returns", 2)):
            self.world.topics.create(name, partitions)
        self.clock = self.world.clock
        self.rng = FakeRng()
        self.groups: Shards[Any, Any] = Shards(
            "__consumer_offsets",
            new_machine=lambda _: GroupMachine(
                lambda: self.world.settings, lambda: self.world.topics
            ),
            codec=self.world.codec,
            clock=self.clock,
        )
        self.groups.partition_count = 1
        self.log = MemoryLog()
        if leads:
            self.groups.lead(0, 0, self.log)
        self.created: list[str] = []
        self.node_id = 1
        self.authorizer: Authorizer | None = None
        self.transactions = SimpleNamespace(shards=self.groups)
        self.shares = SimpleNamespace(shards=self.groups)
        self.brokers = [SimpleNamespace(node_id=1, host="broker", port=9092)]
        self.cluster = SimpleNamespace(brokers=lambda listener: self.brokers)

    @property
    def image(self) -> Any:
        topics = [
            SimpleNamespace(
                name=one.name, id=one.topic_id, partitions=dict.fromkeys(range(one.partition_count))
            )
            for one in self.world.topics.topics.values()
        ]
        return SimpleNamespace(
            topics_by_name={topic.name: topic for topic in topics},
            topics_by_id={topic.id: topic for topic in topics},
        )

    def auto_create_topic(self, name: str) -> None:
        self.created.append(name)

    def topic_id(self, name: str) -> UUID:
        return self.world.topics.topics[name].topic_id

    def send(self, module: Any, api_key: int, version: int, **body: Any) -> Told:
        asked = decode_request(api_key, version, encode_request(api_key, version, body))
        node: Any = self
        peer = Peer("PLAINTEXT", "127.0.0.1")
        call = Call(api_key, version, 1, "test", asked, peer, self.clock.now())
        answer = module.handle(node, call)
        told = Told(call)
        if isinstance(answer, Later):
            answer.when_resolved(told)
        else:
            told.resolve(answer)
        return told

    def request(self, module: Any, api_key: int, version: int, **body: Any) -> Any:
        """What a client gets: both ways through the bytes of that version."""
        told = self.send(module, api_key, version, **body)
        if told.answer is None:
            self.clock.advance(0)
        assert told.answer is not None, "no answer yet"
        return told.answer
