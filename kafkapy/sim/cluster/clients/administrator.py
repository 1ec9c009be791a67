"""An administrator: creates, deletes, alters and grows topics, one change at a time.

Every change is asked for until it is known that it happened. What was asked for more than once, by
the client or by the broker that forwards it, may still be under way when it was answered: an old
CreateTopics may arrive after the topic was deleted, an old setting after a newer one. So a topic
has its name for itself, and what a late request may yet do is kept beside what must be.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from kafkapy.broker.controller.forwarding import RETRY_MS as RETRY_MS_OF_BROKERS
from kafkapy.core.errors import ErrorCode
from kafkapy.core.seams import Clock
from kafkapy.kraft.image.image import TOPIC_RESOURCE
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.cluster.clients.routed import RETRY_MS, Talk
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng

E: Final = ErrorCode
_LATER: Final = frozenset(
    {
        E.NOT_CONTROLLER,
        E.REQUEST_TIMED_OUT,
        E.INVALID_REPLICATION_FACTOR,  # too few brokers are there at the moment
        E.BROKER_NOT_AVAILABLE,
        E.LEADER_NOT_AVAILABLE,
        E.NETWORK_EXCEPTION,
    }
)
_SET: Final = 0
# A broker that forwards waits so long before it asks again; its clock may be a bit too fast.
_AGAIN_MS: Final = RETRY_MS_OF_BROKERS * 9 // 10
_MOST_TOPICS: Final = 6
_MOST_PARTITIONS: Final = 5
_ALTERED: Final = ("retention.ms", "segment.ms", "max.message.bytes")


@dataclass(slots=True, eq=False)
class Topic:
    name: str
    partition_count: int
    # By name: the value that is acknowledged last, and those that may come late.
    settings: dict[str, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Administrator:
    clock: Clock
    dice: SimRng
    replication_factor: int
    is_calm: Callable[[], bool]
    topics: dict[str, Topic] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    # Deleted ones that an old request may have made again.
    ghosts: set[str] = field(default_factory=set)
    changes: int = 0
    _made: int = 0
    _asked_twice: set[str] = field(default_factory=set)

    def act(self) -> Actor:
        while not self.is_calm():
            yield from self._change()
            yield Sleep(self.dice.magnitude(20, 3_000))
        yield from self._create()

    def make(self, name: str, partitions: int) -> Talk:
        """A topic for others to use. Whether it took more than one attempt."""
        row = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": self.replication_factor,
            "assignments": [],
            "configs": [],
        }
        body = {"topics": [row], "timeout": 5_000, "validate_only": False}
        return self._until(Ask(ApiKey.CREATE_TOPICS, 7, body), E.TOPIC_ALREADY_EXISTS)

    def _change(self) -> Talk:
        dice = self.dice
        if not self.topics or (len(self.topics) < _MOST_TOPICS and dice.chance(35)):
            return self._create()
        topic = dice.choice(list(self.topics.values()))
        return dice.weighted(((2, self._delete), (4, self._alter), (3, self._grow)))(topic)

    def _create(self) -> Talk:
        self._made += 1
        topic = Topic(f"made-{self._made}", self.dice.between(1, 3))
        if (yield from self.make(topic.name, topic.partition_count)):
            self._asked_twice.add(topic.name)
        self.topics[topic.name] = topic

    def _delete(self, topic: Topic) -> Talk:
        body = {"topics": [{"name": topic.name, "topic_id": None}], "timeout": 5_000}
        del self.topics[topic.name]
        yield from self._until(Ask(ApiKey.DELETE_TOPICS, 6, body), E.UNKNOWN_TOPIC_OR_PARTITION)
        self.deleted.add(topic.name)
        if topic.name in self._asked_twice:
            self.ghosts.add(topic.name)

    def _alter(self, topic: Topic) -> Talk:
        name, value = self.dice.choice(_ALTERED), str(self.dice.between(100_000, 900_000))
        configs = [{"name": name, "config_operation": _SET, "value": value}]
        row = {"resource_type": TOPIC_RESOURCE, "resource_name": topic.name, "configs": configs}
        body = {"resources": [row], "validate_only": False}
        before = topic.settings.get(name, set())
        topic.settings[name] = {value, *before}  # while it is not known
        late = yield from self._until(Ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body), None)
        keeps = topic.settings[name] if late or len(before) > 1 else {value}
        topic.settings[name] = keeps

    def _grow(self, topic: Topic) -> Talk:
        if topic.partition_count >= _MOST_PARTITIONS:
            return
        count = topic.partition_count + 1
        row = {"name": topic.name, "count": count, "assignments": None}
        body = {"topics": [row], "timeout": 5_000, "validate_only": False}
        yield from self._until(Ask(ApiKey.CREATE_PARTITIONS, 3, body), E.INVALID_PARTITIONS)
        topic.partition_count = count

    def _until(self, ask: Ask, already: ErrorCode | None) -> Talk:
        """Until it happened. Whether an earlier attempt may still be under way."""
        may_be_done = False
        while True:
            asked_at = self.clock.now()
            answer = yield ask
            may_be_done = may_be_done or self.clock.now() - asked_at > _AGAIN_MS
            if answer is LOST:
                may_be_done = True
            else:
                row = _only_row(answer)
                error = E(row.error_code)
                if error is E.NONE or (error is already and may_be_done):
                    self.changes += 1
                    return may_be_done
                if error not in _LATER:
                    raise BrokenPromise(f"{ask.api_key.name}: {row} to {ask.body}")
                may_be_done = may_be_done or error is E.REQUEST_TIMED_OUT
            yield Sleep(RETRY_MS)


def _only_row(answer: Any) -> Any:
    for name in ("topics", "responses", "results"):
        if hasattr(answer, name):
            return getattr(answer, name)[0]
    raise AssertionError(answer)
