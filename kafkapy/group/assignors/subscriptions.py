"""What an assignor looks at, and what it returns."""

from collections.abc import Callable, Mapping
from typing import NamedTuple
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.group.topics import Topic

Partitions = dict[UUID, set[int]]
TopicPartitionId = tuple[UUID, int]


class MemberSubscription(NamedTuple):
    """`assigned` is its target so far: assignors move as little as they can."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    topics: frozenset[UUID]
    assigned: Mapping[UUID, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Members in a stable order; `topics` are those that exist and somebody subscribes to."""

    members: tuple[MemberSubscription, ...]
    topics: Mapping[UUID, Topic]

    @property
    def are_all_equal(self) -> bool:
        return len({member.topics for member in self.members}) <= 1

    @property
    def are_racks_useful(self) -> bool:
        """Racks matter if some member would be better off with some partition than with
        another: if a replica is in every rack (or nobody names one), they do not."""
        racks = {member.rack_id for member in self.members if member.rack_id}
        return any(
            topic.racks and not racks <= in_racks
            for topic in self.topics.values()
            for in_racks in topic.racks
            if racks
        ) and any(racks & in_racks for topic in self.topics.values() for in_racks in topic.racks)

    def is_near(self, member: MemberSubscription, partition: TopicPartitionId) -> bool:
        topic_id, number = partition
        return member.rack_id is not None and member.rack_id in self.topics[topic_id].racks_of(
            number
        )


Assignor = Callable[[Subscriptions], dict[str, Partitions]]
