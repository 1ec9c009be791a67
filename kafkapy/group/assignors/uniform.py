"""The uniform assignor: as even as subscriptions allow, and sticky.

    1. everybody keeps what it has, up to its fair share, what is in its own rack first
    2. what is free goes to whoever has least among those who subscribe to it; first to
       members in a rack that holds a replica
    3. with unequal subscriptions: move a partition from one member to another that has at
       least two fewer, until there is none

With equal subscriptions step 3 finds nothing to do, and no two members differ by more
than one partition.
"""

from collections import defaultdict
from heapq import heapify, heappop, heappush
from uuid import UUID

from kafkapy.group.assignors.subscriptions import (
    MemberSubscription,
    Partitions,
    Subscriptions,
    TopicPartitionId,
)


def assign_uniformly(subscriptions: Subscriptions) -> dict[str, Partitions]:
    if not subscriptions.members:
        return {}
    work = _Uniform(subscriptions)
    work.keep()
    if subscriptions.are_racks_useful:
        work.hand_out(only_near=True)
    work.hand_out(only_near=False)
    if work.is_unequal:
        work.balance()
    return work.result()


class _Uniform:
    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions
        self._members = subscriptions.members
        self.is_unequal = not subscriptions.are_all_equal
        self._owned: dict[str, set[TopicPartitionId]] = {m.member_id: set() for m in self._members}
        self._subscribers: dict[UUID, list[MemberSubscription]] = defaultdict(list)
        for member in self._members:
            for topic_id in member.topics:
                self._subscribers[topic_id].append(member)
        self._free = {
            (topic_id, number)
            for topic_id, topic in subscriptions.topics.items()
            if topic_id in self._subscribers
            for number in range(topic.partition_count)
        }
        # A fair share is the least, or one more for as many members as it does not divide.
        self._least, self._over = divmod(len(self._free), len(self._members))
        self._larger = 0

    def keep(self) -> None:
        """What somebody had and may keep. Who has most gets the larger shares first."""
        had = {member.member_id: self._still_valid(member) for member in self._members}
        by_most = sorted(self._members, key=lambda member: -len(had[member.member_id]))
        for place, member in enumerate(by_most):
            share = self._least + (place < self._over)
            wanted = sorted(
                (one for one in had[member.member_id] if one in self._free),
                key=lambda one: (not self._subscriptions.is_near(member, one), one),
            )
            kept = wanted if self.is_unequal else wanted[:share]
            self._owned[member.member_id].update(kept)
            self._free.difference_update(kept)
            self._larger += len(kept) > self._least

    def hand_out(self, *, only_near: bool) -> None:
        """Each free partition to whoever has least: partitions with few takers first."""
        by_topics = self._free_by_candidates(only_near)
        for candidates, partitions in by_topics:
            heap = [
                (len(self._owned[member.member_id]), place, member)
                for place, member in enumerate(candidates)
            ]
            heapify(heap)
            for partition in partitions:
                size, place, member = heap[0]
                if only_near and not self._is_fair(size + 1):
                    break  # near or not, nobody gets more than a fair share
                heappop(heap)
                self._owned[member.member_id].add(partition)
                self._free.discard(partition)
                self._larger += size == self._least
                heappush(heap, (size + 1, place, member))

    def balance(self) -> None:
        """Bounded: every move makes the sum of squares smaller."""
        is_moving = True
        while is_moving:
            is_moving = False
            by_size = sorted(self._members, key=lambda m: -len(self._owned[m.member_id]))
            for giver in by_size:
                least = min(map(len, self._owned.values()))
                if len(self._owned[giver.member_id]) > least + 1:
                    is_moving |= self._give_away(giver)

    def result(self) -> dict[str, Partitions]:
        result: dict[str, Partitions] = {}
        for member_id, owned in self._owned.items():
            by_topic: Partitions = {}
            for topic_id, number in owned:
                by_topic.setdefault(topic_id, set()).add(number)
            result[member_id] = by_topic
        return result

    def _is_fair(self, size: int) -> bool:
        return size <= self._least or (size == self._least + 1 and self._larger < self._over)

    def _still_valid(self, member: MemberSubscription) -> list[TopicPartitionId]:
        return [
            (topic_id, number)
            for topic_id, numbers in member.assigned.items()
            if topic_id in member.topics
            for number in numbers
            if (topic_id, number) in self._free
        ]

    def _free_by_candidates(
        self, only_near: bool
    ) -> list[tuple[list[MemberSubscription], list[TopicPartitionId]]]:
        """Free partitions in groups that the same members may get; the pickiest first."""
        groups: dict[tuple[str, ...], list[TopicPartitionId]] = {}
        members: dict[tuple[str, ...], list[MemberSubscription]] = {}
        # Candidates are the same for all partitions of a topic (near: with replicas in the
        # same racks). They are looked for once each, not for thousands of partitions.
        group_of: dict[tuple[UUID, frozenset[str]], list[TopicPartitionId] | None] = {}
        topics = self._subscriptions.topics
        for partition in sorted(self._free):
            topic_id, number = partition
            racks = topics[topic_id].racks_of(number) if only_near else frozenset[str]()
            if (topic_id, racks) not in group_of:
                listed = [
                    member
                    for member in self._subscribers[topic_id]
                    if not only_near or member.rack_id in racks
                ]
                names = tuple(member.member_id for member in listed)
                members[names] = listed
                group_of[topic_id, racks] = groups.setdefault(names, []) if listed else None
            group = group_of[topic_id, racks]
            if group is not None:
                group.append(partition)
        ordered = sorted(groups, key=lambda names: (len(names), names))
        return [(members[names], groups[names]) for names in ordered]

    def _give_away(self, giver: MemberSubscription) -> bool:
        """One pass over what the giver has; whether anything moved."""
        has_moved = False
        mine = self._owned[giver.member_id]
        for partition in sorted(mine):
            taker = min(
                self._subscribers[partition[0]],
                key=lambda member: len(self._owned[member.member_id]),
            )
            theirs = self._owned[taker.member_id]
            if len(theirs) + 1 < len(mine):
                mine.discard(partition)
                theirs.add(partition)
                has_moved = True
        return has_moved
