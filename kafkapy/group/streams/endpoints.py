"""Which partitions are at which member's endpoint, for applications that ask one another."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafkapy.group.streams.configure import Configured
from kafkapy.group.streams.member import Tasks, tasks_of
from kafkapy.group.streams.topology import inputs
from kafkapy.group.topics import Topics

if TYPE_CHECKING:
    from kafkapy.group.streams.group import StreamsGroup

Partitions = tuple[tuple[str, tuple[int, ...]], ...]


class EndpointPartitions(NamedTuple):
    endpoint: tuple[str, int]
    active: Partitions
    standby: Partitions


def by_endpoint(
    group: "StreamsGroup", member_id: str, configured: Configured, topics: Topics
) -> tuple[EndpointPartitions, ...]:
    """Of every member that has one; the asking member's own comes last."""
    counts: dict[str, int] = {}
    for part in configured.parts.values():
        for name in inputs(part.subtopology):
            topic = topics.named(name)
            counts[name] = 0 if topic is None else topic.partition_count
    return tuple(
        EndpointPartitions(
            profile.user_endpoint,
            _partitions(tasks_of(holding.assigned.active), configured, counts),
            _partitions(holding.assigned.standby, configured, counts),
        )
        for profile, holding in sorted(
            group.members(), key=lambda member: member[0].member_id == member_id
        )
        if profile.user_endpoint is not None
    )


def _partitions(tasks: Tasks, configured: Configured, counts: Mapping[str, int]) -> Partitions:
    """A topic with fewer partitions than the part has tasks has only the first of them."""
    found = []
    for subtopology, numbers in sorted(tasks.items()):
        part = configured.parts.get(subtopology)
        if part is not None:
            listed, topics = sorted(numbers), sorted(set(inputs(part.subtopology)))
            found += [(name, tuple(listed[: counts[name]])) for name in topics]
    return tuple(found)
