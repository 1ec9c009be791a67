"""SimpleAssignor: every partition has a reader, every member something to read, and as little
moves as can be.

    members <= partitions   each partition has one member, each member as many as the others
    members  > partitions   each member has one partition, each partition as many as the others

Members that subscribe to other topics than the rest are served by the same rule, each among the
partitions of its own topics.

It runs within a heartbeat, so no step looks at all partitions for each member, or the other way
round: members with the same subscription are a class, and of a class only who has least counts.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
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
    work = _Simple(subscribers, partitions)
    work.give_each_partition_a_reader()
    work.level()
    work.give_each_member_a_partition()
    return {member_id: _target(found) for member_id, found in work.holds.items()}


class _Move(NamedTuple):
    """In the order in which they are preferred."""

    is_new_to_it: bool
    partition: Partition
    giver: str


class _Class:
    """Members with the same subscription, and the partitions that they could read."""

    def __init__(self, topic_ids: frozenset[UUID], partitions: Mapping[UUID, frozenset[int]]):
        self.topics = [topic_id for topic_id in sorted(topic_ids) if partitions.get(topic_id)]
        self.wanted = [
            (topic_id, number)
            for topic_id in self.topics
            for number in sorted(partitions[topic_id])
        ]
        self.may = frozenset(self.wanted)
        # (how many partitions it holds, member), with entries that are not so any more.
        self.by_least: list[tuple[int, str]] = []


class _Simple:
    def __init__(
        self, subscribers: Sequence[Subscriber], partitions: Mapping[UUID, frozenset[int]]
    ) -> None:
        self.holds: dict[str, set[Partition]] = {one.member_id: set() for one in subscribers}
        self._held: dict[Partition, set[str]] = {}
        self._class_of: dict[str, _Class] = {}
        # Of each topic: who may read it, by class, and how many they are.
        self._readers: dict[UUID, list[_Class]] = defaultdict(list)
        self._reader_count: dict[UUID, int] = defaultdict(int)
        # Who had a partition that it still may read.
        self._had_by: dict[Partition, list[str]] = defaultdict(list)
        self._introduce(subscribers, partitions)

    def give_each_partition_a_reader(self) -> None:
        """Those that fewest may read first; to who has least, and among those to who had it."""
        for partition in sorted(self._held, key=lambda one: (self._reader_count[one[0]], one)):
            readers = self._reader_count[partition[0]]

            def preference(
                member_id: str, partition: Partition = partition, readers: int = readers
            ) -> tuple[bool, bool, int, str]:
                count = len(self.holds[member_id])
                fair = -(-len(self._class_of[member_id].wanted) // readers)
                return count >= fair, not self._had(member_id, partition), count, member_id

            candidates = [
                *self._had_by.get(partition, ()),
                *(self._least_of(one) for one in self._readers[partition[0]]),
            ]
            self._give(min(candidates, key=preference), partition)

    def level(self) -> None:
        """From who has two more than another that could read it, to that other."""
        for member_id in sorted(self.holds, key=lambda one: (len(self.holds[one]), one)):
            best_of: dict[str, _Move | None] = {}
            move = self._best_move_to(member_id, best_of)
            while move is not None:
                self.holds[move.giver].discard(move.partition)
                self._held[move.partition].discard(move.giver)
                self._give(member_id, move.partition)
                del best_of[move.giver]
                move = self._best_move_to(member_id, best_of)

    def give_each_member_a_partition(self) -> None:
        for member_id in sorted(self.holds):
            wanted = self._class_of[member_id].wanted
            if wanted and not self.holds[member_id]:
                partition = min(
                    wanted,
                    key=lambda one: (len(self._held[one]), not self._had(member_id, one), one),
                )
                self._give(member_id, partition)

    def _introduce(
        self, subscribers: Sequence[Subscriber], partitions: Mapping[UUID, frozenset[int]]
    ) -> None:
        classes: dict[frozenset[UUID], _Class] = {}
        for one in subscribers:
            kind = classes.get(one.topic_ids)
            if kind is None:
                kind = classes[one.topic_ids] = _Class(one.topic_ids, partitions)
                for topic_id in kind.topics:
                    self._readers[topic_id].append(kind)
                self._held.update((partition, set()) for partition in kind.wanted)
            self._class_of[one.member_id] = kind
            kind.by_least.append((0, one.member_id))
            for topic_id in kind.topics:
                self._reader_count[topic_id] += 1
            for topic_id, numbers in one.target.items():
                for number in numbers:
                    if (topic_id, number) in kind.may:
                        self._had_by[topic_id, number].append(one.member_id)
        for kind in classes.values():
            heapify(kind.by_least)

    def _least_of(self, kind: _Class) -> str:
        """Among equals the first by name."""
        while len(self.holds[kind.by_least[0][1]]) != kind.by_least[0][0]:
            heappop(kind.by_least)
        return kind.by_least[0][1]

    def _had(self, member_id: str, partition: Partition) -> bool:
        return member_id in self._had_by.get(partition, ())

    def _give(self, member_id: str, partition: Partition) -> None:
        self.holds[member_id].add(partition)
        self._held[partition].add(member_id)
        count = len(self.holds[member_id])
        heappush(self._class_of[member_id].by_least, (count, member_id))

    def _best_move_to(self, member_id: str, best_of: dict[str, "_Move | None"]) -> "_Move | None":
        """From who has most, and of theirs what it had before. `best_of` is what has been
        found out about givers that have not given since."""
        for givers in self._with_more_than(len(self.holds[member_id]) + 1):
            for giver in givers:
                if giver not in best_of:
                    best_of[giver] = self._best_from(giver, member_id)
            moves = [move for giver in givers if (move := best_of[giver]) is not None]
            if moves:
                return min(moves)
        return None

    def _best_from(self, giver: str, member_id: str) -> "_Move | None":
        may = self._class_of[member_id].may
        return min(
            (
                _Move(not self._had(member_id, partition), partition, giver)
                for partition in self.holds[giver]
                if partition in may
            ),
            default=None,
        )

    def _with_more_than(self, count: int) -> Iterator[list[str]]:
        """Members that hold more, those who hold most first."""
        by_count: dict[int, list[str]] = defaultdict(list)
        for member_id, held in self.holds.items():
            if len(held) > count:
                by_count[len(held)].append(member_id)
        for most in sorted(by_count, reverse=True):
            yield by_count[most]


def _target(partitions: set[Partition]) -> Target:
    found: dict[UUID, set[int]] = defaultdict(set)
    for topic_id, partition in partitions:
        found[topic_id].add(partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in found.items()}
