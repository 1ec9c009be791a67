"""What groups see of the cluster's topics: names, ids, partitions, racks.

The node implements `Topics` over its metadata image. `fingerprint` is the number that a
consumer group's epoch record carries: another number means assignments may have to change.
"""

import struct
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple, Protocol
from uuid import UUID

from kafkapy.core.data import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """`racks[p]` are the racks of the replicas of partition p; () where no broker has one."""

    name: str
    topic_id: UUID
    partition_count: int
    racks: tuple[frozenset[str], ...] = ()

    def racks_of(self, partition: int) -> frozenset[str]:
        return self.racks[partition] if partition < len(self.racks) else frozenset()


class TopicPartitions(NamedTuple):
    """Partitions of one topic, in order."""

    topic_id: UUID
    topic: str
    partitions: tuple[int, ...]


class Topics(Protocol):
    @property
    def version(self) -> int:
        """The metadata offset this is the state of."""

    def named(self, name: str) -> Topic | None: ...

    def with_id(self, topic_id: UUID) -> Topic | None: ...

    def names(self) -> Iterable[str]:
        """Every topic's name, internal ones included."""


def named(target: Mapping[UUID, frozenset[int]], topics: Topics) -> tuple[TopicPartitions, ...]:
    """Partitions of a topic that is gone have no name, and are left out."""
    found = []
    for topic_id, partitions in target.items():
        topic = topics.with_id(topic_id)
        if topic is not None:
            found.append(TopicPartitions(topic_id, topic.name, tuple(sorted(partitions))))
    return tuple(found)


def fingerprint(names: Iterable[str], topics: Topics) -> int:
    """64 bits (signed, as it is stored) over what assignors look at; 0 for no topic."""
    digest = blake2b(digest_size=8)
    is_empty = True
    for name in sorted(names):
        topic = topics.named(name)
        if topic is None:
            continue
        is_empty = False
        encoded = name.encode()
        digest.update(topic.topic_id.bytes)
        digest.update(struct.pack(">Ii", len(encoded), topic.partition_count))
        digest.update(encoded)
        for racks in topic.racks:
            digest.update(struct.pack(">I", len(racks)))
            for rack in sorted(racks):
                digest.update(struct.pack(">I", len(rack)) + rack.encode())
    if is_empty:
        return 0
    number = int.from_bytes(digest.digest(), "big", signed=True)
    return number or 1
