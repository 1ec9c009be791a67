"""How many partitions the internal topics of an application have to have.

repartition topics   as the topology says; else as many as the largest input of the part
                     that writes it, known round by round from the outer topics inwards
copartitioned ones   as many as the topics they are joined with
changelogs           one for each task of their part
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.records.streams import Subtopology
from kafkapy.group.streams.topology import Topology, copartitioned, inputs

# How many partitions there are of a topic, or are decided on; None where neither.
CountOf = Callable[[str], int | None]


class UnlikePartitions(Exception):
    """Topics that are read together have different numbers of partitions."""


def repartition_counts(topology: Topology, existing: CountOf) -> dict[str, int]:
    parts = list(topology.subtopologies.values())
    counts = {
        info.name: info.partitions
        for part in parts
        for info in part.repartition_source_topics
        if info.partitions != 0
    }
    _follow_sinks(parts, counts, existing)
    if any(sink not in counts for part in parts for sink in part.repartition_sink_topics):
        raise invalid(
            "Repartition topics read from one another in a loop: how many partitions they have "
            "cannot be told."
        )
    for part in parts:
        for info in part.repartition_source_topics:
            if info.name not in counts:
                raise invalid(f"No part of the topology writes the repartition topic {info.name}.")
    return counts


def coerce_copartitions(topology: Topology, counts: dict[str, int], count_of: CountOf) -> None:
    """Repartition topics get the number of partitions of what they are read together with."""
    infos = {
        info.name: info.partitions
        for part in topology.subtopologies.values()
        for info in part.repartition_source_topics
    }
    fixed = sorted(name for name, partitions in infos.items() if partitions != 0)
    for part in topology.subtopologies.values():
        for group in copartitioned(part):
            if group:
                counts.update(_coerced(group, infos, fixed, count_of))


def changelog_counts(topology: Topology, count_of: CountOf) -> dict[str, int]:
    return {
        info.name: task_count(part, count_of)
        for part in topology.subtopologies.values()
        for info in part.state_changelog_topics
    }


def task_count(part: Subtopology, count_of: CountOf) -> int:
    return max((_known(topic, count_of) for topic in inputs(part)), default=0)


def invalid(why: str) -> Refused:
    return Refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)


def _follow_sinks(parts: list[Subtopology], counts: dict[str, int], existing: CountOf) -> None:
    """In rounds, parts in their order: one whose inputs are known in part decides with those, as
    Apache Kafka does. Only parts that have heard of another input are looked at."""
    readers: dict[str, list[int]] = {}
    for at, part in enumerate(parts):
        for info in part.repartition_source_topics:
            readers.setdefault(info.name, []).append(at)
    todo = [(0, at) for at, part in enumerate(parts) if part.repartition_sink_topics]
    heapify(todo)
    done: set[int] = set()
    while todo:
        turn, at = heappop(todo)
        if at in done:
            continue
        part = parts[at]
        known = [counts[i.name] for i in part.repartition_source_topics if i.name in counts]
        known += [count for topic in part.source_topics if (count := existing(topic)) is not None]
        if not known:
            continue
        done.add(at)
        for sink in part.repartition_sink_topics:
            if sink in counts:
                continue
            counts[sink] = max(known)
            for reader in readers.get(sink, ()):
                if reader not in done:
                    heappush(todo, (turn if reader > at else turn + 1, reader))


def _coerced(
    group: frozenset[str], infos: dict[str, int], fixed: list[str], count_of: CountOf
) -> dict[str, int]:
    own = {name: _known(name, count_of) for name in sorted(group) if name in infos}
    others = {name: _known(name, count_of) for name in sorted(group) if name not in infos}
    if others:
        partitions = _same(others)
    elif fixed:
        # All of the topology, not only of this group: so Apache Kafka decides.
        partitions = _same({name: _known(name, count_of) for name in fixed})
    else:
        partitions = max(own.values())
    for name, count in own.items():
        if infos[name] != 0 and count != partitions:
            raise UnlikePartitions(
                f"The repartition topic {name} has {count} partitions, the topics that it is read "
                f"together with have {partitions}."
            )
    return dict.fromkeys(own, partitions)


def _same(counts: dict[str, int]) -> int:
    first, *others = set(counts.values())
    if others:
        listed = ", ".join(f"{name}={count}" for name, count in counts.items())
        raise UnlikePartitions(f"These topics have to have the same number of partitions: {listed}")
    return first


def _known(topic: str, count_of: CountOf) -> int:
    count = count_of(topic)
    assert count is not None, ("sources exist, repartition topics are decided on", topic)
    return count


def names(topics: Iterable[str], most: int = 3) -> str:
    """The first few of them, and how many more."""
    listed = sorted(topics)
    more = f" and {len(listed) - most} additional topics" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
