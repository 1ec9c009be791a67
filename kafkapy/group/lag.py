"""How far each group is behind, for metrics, the console and `kafkapy groups describe`.

    lag = where the partition ends for consumers (its high watermark) - what is committed

A group owes nothing it has not committed to yet, so such a partition has no lag figure;
neither has one whose end this node does not know.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kafkapy.core.ids import TopicPartition
from kafkapy.group.classic.group import ClassicGroup, ClassicMember
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.embedded import read_assignment
from kafkapy.group.state import Group, GroupState
from kafkapy.group.streams.group import StreamsGroup
from kafkapy.group.streams.topology import inputs
from kafkapy.group.topics import Topics

EndOffset = Callable[[TopicPartition], int | None]


class LagFigure(NamedTuple):
    """One partition of one group; None where there is nothing to say."""

    group_id: str
    partition: TopicPartition
    committed_offset: int | None
    end_offset: int | None
    member_id: str | None

    @property
    def lag(self) -> int | None:
        if self.committed_offset is None or self.end_offset is None:
            return None
        # A commit may be ahead of what this node has heard of the partition's end.
        return max(0, self.end_offset - self.committed_offset)


def lag_figures(state: GroupState, topics: Topics, end_offset: EndOffset) -> Iterator[LagFigure]:
    """Of every group of a shard, by group, topic and partition."""
    for group_id in sorted(state.groups):
        yield from lag_of_group(group_id, state, topics, end_offset)


def lag_of_group(
    group_id: str, state: GroupState, topics: Topics, end_offset: EndOffset
) -> Iterator[LagFigure]:
    """Every partition that is committed to or owned by a member."""
    committed = state.offsets.of_group(group_id)
    owners = dict(_owners(state.groups.get(group_id), topics))
    for partition in sorted({*committed, *owners}):
        offset = committed.get(partition)
        yield LagFigure(
            group_id,
            partition,
            None if offset is None else offset.offset,
            end_offset(partition),
            owners.get(partition),
        )


def _owners(group: Group | None, topics: Topics) -> Iterator[tuple[TopicPartition, str]]:
    match group:
        case ConsumerGroup():
            for (topic_id, number), member_id in group.owners.items():
                topic = topics.with_id(topic_id)
                if topic is not None:
                    yield TopicPartition(topic.name, number), member_id
        case StreamsGroup() if group.topology is not None:
            for (subtopology, number), member_id in group.owners.items():
                part = group.topology.subtopologies.get(subtopology)
                for name in inputs(part) if part is not None else ():
                    found = topics.named(name)
                    if found is not None and number < found.partition_count:
                        yield TopicPartition(name, number), member_id
        case ClassicGroup() if group.speaks_consumer_protocol:
            for member in group.members.values():
                for partition in _assigned(member):
                    yield partition, member.member_id


def _assigned(member: ClassicMember) -> Iterator[TopicPartition]:
    assignment = read_assignment(member.assignment)
    for one in assignment.assigned_partitions if assignment is not None else ():
        for number in one.partitions:
            yield TopicPartition(one.topic, number)
