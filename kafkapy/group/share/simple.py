"""SimpleAssignor: every partition has a reader, every member something to read, and as little
moves as can be.

    members <= partitions   each partition has one member, each member as many as the others
    members  > partitions   each member has one partition, each partition as many as the others

Members that subscribe to other topics than the rest are served by the same rule, each among the
partitions of its own topics.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from kafkapy.group.share.member import Target

Partition = tuple[UUID, int]


class Subscriber(NamedTuple):
    member_id: str
    topic_ids: frozenset[UUID]
    # What it has by now.
    target: Target


def assign(
    subscribers: Sequence[Subscriber], partitions: Mapping[UUID, frozenset[int]]
) -> dict[str, Target]:
    """Of the partitions that can be read, by topic."""
    wanted = {
        one.member_id: [
            (topic_id, partition)
            for topic_id in sorted(one.topic_ids)
            for partition in sorted(partitions.get(topic_id, ()))
        ]
        for one in subscribers
    }
    readers: dict[Partition, list[str]] = defaultdict(list)
    for one in subscribers:
        for partition in wanted[one.member_id]:
            readers[partition].append(one.member_id)
    holds: dict[str, set[Partition]] = {one.member_id: set() for one in subscribers}
    held: dict[Partition, set[str]] = {partition: set() for partition in readers}
    had = {
        (one.member_id, (topic_id, partition))
        for one in subscribers
        for topic_id, numbers in one.target.items()
        for partition in numbers
    }

    def give(member_id: str, partition: Partition) -> None:
        holds[member_id].add(partition)
        held[partition].add(member_id)

    # Those that fewest may read first; to who has least, and among those to who had it.
    for partition in sorted(readers, key=lambda one: (len(readers[one]), one)):
        give(
            min(
                readers[partition],
                key=lambda one: (
                    len(holds[one]) > _fair(len(wanted[one]), len(readers[partition])),
                    (one, partition) not in had,
                    len(holds[one]),
                    one,
                ),
            ),
            partition,
        )
    _level(holds, held, wanted, had)
    for member_id in sorted(holds):
        if not holds[member_id] and wanted[member_id]:
            give(
                member_id,
                min(
                    wanted[member_id],
                    key=lambda one: (len(held[one]), (member_id, one) not in had, one),
                ),
            )
    return {member_id: _target(found) for member_id, found in holds.items()}


def _fair(partition_count: int, member_count: int) -> int:
    return -(-partition_count // member_count) - 1


def _level(
    holds: dict[str, set[Partition]],
    held: dict[Partition, set[str]],
    wanted: Mapping[str, Sequence[Partition]],
    had: set[tuple[str, Partition]],
) -> None:
    """From who has two more than another that could read it, to that other."""
    may = {member_id: frozenset(found) for member_id, found in wanted.items()}
    for member_id in sorted(holds, key=lambda one: (len(holds[one]), one)):
        while may[member_id]:
            givers = [
                (len(holds[giver]), partition)
                for partition in may[member_id]
                for giver in held[partition]
                if giver != member_id and len(holds[giver]) >= len(holds[member_id]) + 2
            ]
            if not givers:
                break
            most = max(count for count, _ in givers)
            partition = min(
                (one for count, one in givers if count == most),
                key=lambda one: ((member_id, one) not in had, one),
            )
            giver = next(one for one in sorted(held[partition]) if len(holds[one]) == most)
            holds[giver].discard(partition)
            held[partition].discard(giver)
            holds[member_id].add(partition)
            held[partition].add(member_id)


def _target(partitions: set[Partition]) -> Target:
    found: dict[UUID, set[int]] = defaultdict(set)
    for topic_id, partition in partitions:
        found[topic_id].add(partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in found.items()}
