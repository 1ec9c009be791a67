"""Which partitions a share group has state in, at the share coordinator (record type 15).

    none --heartbeat--> initializing --told by the share coordinator--> initialized
                                                   initialized --> deleting --> none
    deleting --altered, or it failed and somebody subscribes--> initializing

Only what is initialized is assigned to members. A value: changing it is making another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.group.topics import Topic, TopicPartitions


class Kept(NamedTuple):
    topic: str
    partitions: frozenset[int]


_NOTHING: Final = Kept("", frozenset())


@dataclass(frozen=True, slots=True)
class StatePartitions:
    initializing: Mapping[UUID, Kept] = field(default_factory=dict)
    initialized: Mapping[UUID, Kept] = field(default_factory=dict)
    deleting: Mapping[UUID, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.initializing or self.initialized or self.deleting)

    def all(self) -> tuple[TopicPartitions, ...]:
        """Everything that the share coordinator may know of, but for what is being deleted."""
        return listed(_with(self.initialized, listed(self.initializing)))

    def lacking(self, topic: Topic) -> tuple[int, ...]:
        """Of its partitions those that are neither initializing nor initialized."""
        one = self.initializing.get(topic.topic_id, _NOTHING).partitions
        other = self.initialized.get(topic.topic_id, _NOTHING).partitions
        # Nearly always: nothing, and a group may have thousands of partitions.
        if len(one) + len(other) == topic.partition_count:
            return ()
        numbers = range(topic.partition_count)
        return tuple(number for number in numbers if number not in one and number not in other)

    def begun(self, topics: Iterable[TopicPartitions]) -> "StatePartitions":
        topics = tuple(topics)
        ids = frozenset(one.topic_id for one in topics)
        return StatePartitions(
            _with(self.initializing, topics),
            _without(self.initialized, topics),
            {one: name for one, name in self.deleting.items() if one not in ids},
        )

    def done(self, topics: Iterable[TopicPartitions]) -> "StatePartitions":
        topics = tuple(topics)
        return StatePartitions(
            _without(self.initializing, topics), _with(self.initialized, topics), self.deleting
        )

    def leaving(self, topics: Mapping[UUID, str]) -> "StatePartitions":
        return StatePartitions(
            _but(self.initializing, topics),
            _but(self.initialized, topics),
            {**self.deleting, **topics},
        )

    def gone(self, topic_ids: Iterable[UUID]) -> "StatePartitions":
        ids = frozenset(topic_ids)
        return StatePartitions(
            _but(self.initializing, ids),
            _but(self.initialized, ids),
            {one: name for one, name in self.deleting.items() if one not in ids},
        )


NO_STATE: Final = StatePartitions()


def listed(topics: Mapping[UUID, Kept]) -> tuple[TopicPartitions, ...]:
    return tuple(
        TopicPartitions(topic_id, kept.topic, tuple(sorted(kept.partitions)))
        for topic_id, kept in sorted(topics.items())
    )


def _with(kept: Mapping[UUID, Kept], topics: Iterable[TopicPartitions]) -> dict[UUID, Kept]:
    found = dict(kept)
    for topic_id, name, partitions in topics:
        before = found[topic_id].partitions if topic_id in found else frozenset()
        found[topic_id] = Kept(name, before | frozenset(partitions))
    return found


def _without(kept: Mapping[UUID, Kept], topics: Iterable[TopicPartitions]) -> dict[UUID, Kept]:
    found = dict(kept)
    for topic_id, _, partitions in topics:
        if topic_id in found:
            left = found[topic_id].partitions - frozenset(partitions)
            found[topic_id] = found[topic_id]._replace(partitions=left)
            if not left:
                del found[topic_id]
    return found


def _but(kept: Mapping[UUID, Kept], topic_ids: Iterable[UUID]) -> dict[UUID, Kept]:
    ids = frozenset(topic_ids)
    return {topic_id: one for topic_id, one in kept.items() if topic_id not in ids}
