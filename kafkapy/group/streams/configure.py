"""A topology held against the topics that there are: its tasks, and what it lacks.

source topics missing          nothing can be assigned; somebody else makes them
numbers of partitions differ   nothing can be assigned; somebody has to mend it
internal topics missing        they are made (broker/handlers/streams_group_heartbeat.py)
otherwise                      it is ready: tasks are assigned
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from kafkapy.core.data import dataclass
from kafkapy.group.records.streams import Subtopology
from kafkapy.group.streams.sizes import (
    CountOf,
    UnlikePartitions,
    changelog_counts,
    coerce_copartitions,
    invalid,
    names,
    repartition_counts,
    task_count,
)
from kafkapy.group.streams.topology import InternalTopic, Topology, internal_topics
from kafkapy.group.topics import Topics


class StatusCode(IntEnum):
    """What a heartbeat's answer says of the group."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Status(NamedTuple):
    code: StatusCode
    detail: str


@dataclass(frozen=True, slots=True)
class Part:
    """A subtopology with what is known of its topics now."""

    subtopology: Subtopology
    task_count: int
    changelogs: tuple[InternalTopic, ...]
    repartitions: tuple[InternalTopic, ...]

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelogs)


@dataclass(frozen=True, slots=True)
class Configured:
    """`parts` is empty where not even the numbers of partitions are known."""

    epoch: int
    parts: Mapping[str, Part]
    missing: tuple[InternalTopic, ...] = ()
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


def configure(topology: Topology, topics: Topics) -> Configured:
    """Refused(STREAMS_INVALID_TOPOLOGY) if no topics can make it work."""

    def existing(name: str) -> int | None:
        topic = topics.named(name)
        return None if topic is None else topic.partition_count

    missing = {
        name
        for part in topology.subtopologies.values()
        for name in part.source_topics
        if existing(name) is None
    }
    if missing:
        why = f"Source topics {names(missing)} are missing."
        return _unfit(topology, StatusCode.MISSING_SOURCE_TOPICS, why)
    try:
        parts = _parts(topology, existing)
        lacking = _lacking(parts, existing)
    except UnlikePartitions as unlike:
        return _unfit(topology, StatusCode.INCORRECTLY_PARTITIONED_TOPICS, str(unlike))
    if not lacking:
        return Configured(topology.epoch, parts)
    why = f"Internal topics are missing: {names(lacking)}"
    problem = Status(StatusCode.MISSING_INTERNAL_TOPICS, why)
    return Configured(topology.epoch, parts, tuple(lacking.values()), problem)


def _unfit(topology: Topology, code: StatusCode, why: str) -> Configured:
    return Configured(topology.epoch, {}, problem=Status(code, why))


def _parts(topology: Topology, existing: CountOf) -> dict[str, Part]:
    counts = repartition_counts(topology, existing)

    def count_of(name: str) -> int | None:
        found = existing(name)
        return counts.get(name) if found is None else found

    coerce_copartitions(topology, counts, count_of)
    for one in topology.subtopologies.values():
        if not one.source_topics and not one.repartition_source_topics:
            raise invalid(f"The subtopology {one.subtopology_id} has no source topics.")
    counts |= changelog_counts(topology, count_of)
    return {
        part_id: Part(
            one,
            task_count(one, count_of),
            internal_topics(one.state_changelog_topics, counts),
            internal_topics(one.repartition_source_topics, counts),
        )
        for part_id, one in sorted(topology.subtopologies.items())
    }


def _lacking(parts: Mapping[str, Part], existing: CountOf) -> dict[str, InternalTopic]:
    wanted = {
        topic.name: topic
        for part in parts.values()
        for topic in (*part.repartitions, *part.changelogs)
    }
    for name in sorted(wanted):
        found = existing(name)
        if found is None:
            continue
        if found != wanted[name].partitions:
            raise UnlikePartitions(
                f"Existing topic {name} has different number of partitions: expected "
                f"{wanted[name].partitions}, found {found}"
            )
        del wanted[name]
    return wanted
