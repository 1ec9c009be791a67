"""Everything the clients of a world know: topics, partitions, producers, what is in limbo.

A change of the metadata that was asked for and not answered when the node died is in
limbo: it happened, whole, or it did not. The next audit looks which.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kafkapy.sim.clients.producers import Producer
from kafkapy.sim.promises.partitions import PartitionPromises
from kafkapy.sim.promises.topics import TopicFacts
from kafkapy.sim.world.rng import SimRng


@dataclass(frozen=True, slots=True)
class Creating:
    name: str
    partition_count: int
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Deleting:
    topic: TopicFacts


@dataclass(frozen=True, slots=True)
class Altering:
    topic: TopicFacts
    settings: dict[str, str]


@dataclass(frozen=True, slots=True)
class Growing:
    topic: TopicFacts
    partition_count: int


@dataclass(frozen=True, slots=True)
class AlteringBroker:
    """`broker`: its id, or "" for the settings of all brokers."""

    broker: str
    settings: dict[str, str]


Change = Creating | Deleting | Altering | Growing | AlteringBroker

# So few that names are used again after a deletion.
TOPIC_NAMES: Final = tuple(f"topic-{letter}" for letter in "abcdef")


@dataclass(slots=True)
class Clients:
    """`limbo` is the change that is being asked for; there is one at a time."""

    rng: SimRng
    topics: dict[str, TopicFacts] = field(default_factory=dict)
    partitions: dict[tuple[UUID, int], PartitionPromises] = field(default_factory=dict)
    deleted_ids: set[UUID] = field(default_factory=set)
    # Of all brokers ("", with what the controller itself sets: KIP-966), and of the only one.
    broker_settings: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"": {"min.insync.replicas": "1"}, "1": {}}
    )
    producers: list[Producer] = field(default_factory=list)
    producer_ids: set[int] = field(default_factory=set)
    limbo: Change | None = None
    # The log directory that fails, or soon will, until the next start.
    failing_path: str | None = None
    is_stopping: bool = False
    next_number: int = 0
    records_sent: int = 0

    def of(self, topic: TopicFacts) -> Iterator[PartitionPromises]:
        for index in range(topic.partition_count):
            yield self.partitions[topic.topic_id, index]

    def all_partitions(self) -> list[PartitionPromises]:
        return [one for topic in self.topics.values() for one in self.of(topic)]

    def created(self, topic: TopicFacts) -> None:
        self.topics[topic.name] = topic
        self.grown(topic, topic.partition_count)

    def grown(self, topic: TopicFacts, partition_count: int) -> None:
        topic.partition_count = partition_count
        for index in range(partition_count):
            key = (topic.topic_id, index)
            if key not in self.partitions:
                self.partitions[key] = PartitionPromises(topic, index)

    def deleted(self, topic: TopicFacts) -> None:
        del self.topics[topic.name]
        self.deleted_ids.add(topic.topic_id)
        for index in range(topic.partition_count):
            del self.partitions[topic.topic_id, index]

    def is_gone(self, promises: PartitionPromises) -> bool:
        """Whether the topic was deleted, or is being so."""
        topic = promises.topic
        return topic.topic_id in self.deleted_ids or self.limbo == Deleting(topic)

    def may_be_refused(self, promises: PartitionPromises, path: str) -> bool:
        """Whether a partition in the log directory `path` may be out of service."""
        return self.is_gone(promises) or self.is_stopping or path == self.failing_path
