"""The topology of an application: its parts, and the topics that each reads and writes.

It is stored as the first member sent it (record type 23); the record's own classes are the
values. Which topics there are, and how many tasks that makes, is configure.py's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.records.streams import StreamsGroupTopologyValue, Subtopology, TopicInfo


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """`partitions` 0: not decided on yet; `replication_factor` 0: the cluster's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """`readers`: source topic -> the subtopology that reads it. `required`: every topic that
    there has to be."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]
    readers: Mapping[str, str]
    required: frozenset[str]

    def is_like(self, other: "Topology") -> bool:
        return self.epoch == other.epoch and self.subtopologies == other.subtopologies


def topology_from(value: StreamsGroupTopologyValue) -> Topology:
    parts = {one.subtopology_id: one for one in value.subtopologies}
    readers = {topic: one.subtopology_id for one in parts.values() for topic in inputs(one)}
    changelogs = {info.name for one in parts.values() for info in one.state_changelog_topics}
    return Topology(value.epoch, parts, readers, frozenset({*readers, *changelogs}))


def check_topology(value: StreamsGroupTopologyValue) -> None:
    """What no application sends (and Apache Kafka fails over: UNKNOWN_SERVER_ERROR)."""
    ids = Counter(one.subtopology_id for one in value.subtopologies)
    why = None
    if value.epoch < 0:
        why = f"The topology's epoch is {value.epoch}, but must not be negative."
    elif any(count > 1 for count in ids.values()):
        why = "Two subtopologies have the same id."
    elif not all(map(_has_its_copartitions, value.subtopologies)):
        why = "A copartition group names a topic that its subtopology does not have."
    if why is not None:
        raise Refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)


def inputs(subtopology: Subtopology) -> Iterator[str]:
    """Topics whose partitions are its tasks: of others, and repartition topics."""
    yield from subtopology.source_topics
    for info in subtopology.repartition_source_topics:
        yield info.name


def topics_of(subtopologies: Iterable[Subtopology]) -> Iterator[str]:
    """Every topic that is named, each perhaps more than once."""
    for one in subtopologies:
        yield from one.source_topics
        yield from one.repartition_sink_topics
        for info in (*one.repartition_source_topics, *one.state_changelog_topics):
            yield info.name


def internal_topics(
    infos: Iterable[TopicInfo], counts: Mapping[str, int] | None = None
) -> tuple[InternalTopic, ...]:
    """With the numbers of partitions that were decided on, if they were."""
    return tuple(
        InternalTopic(
            info.name,
            info.partitions or (0 if counts is None else counts[info.name]),
            info.replication_factor,
            tuple((one.key, one.value) for one in info.topic_configs),
        )
        for info in infos
    )


def copartitioned(subtopology: Subtopology) -> Iterator[frozenset[str]]:
    """Sets of topics that must have equally many partitions."""
    for group in subtopology.copartition_groups:
        yield frozenset(
            [subtopology.source_topics[at] for at in group.source_topics]
            + [
                subtopology.repartition_source_topics[at].name
                for at in group.repartition_source_topics
            ]
        )


def _has_its_copartitions(subtopology: Subtopology) -> bool:
    sources = range(len(subtopology.source_topics))
    repartitions = range(len(subtopology.repartition_source_topics))
    return all(
        all(at in sources for at in group.source_topics)
        and all(at in repartitions for at in group.repartition_source_topics)
        for group in subtopology.copartition_groups
    )
