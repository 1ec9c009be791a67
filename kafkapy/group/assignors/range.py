"""The range assignor: of every topic a contiguous range, the same of like topics.

Topics with the same subscribers and as many partitions are assigned together, so that
partition p of each is with the same member (co-partitioned joins). Members are in the
order of their instance ids, else member ids; the first ones get one more when a topic does
not divide. Where racks help, a member's share is filled from partitions in its rack first.
"""

from collections import defaultdict
from itertools import islice
from uuid import UUID

from kafkapy.group.assignors.subscriptions import (
    MemberSubscription,
    Partitions,
    Subscriptions,
)


def assign_ranges(subscriptions: Subscriptions) -> dict[str, Partitions]:
    result: dict[str, Partitions] = {m.member_id: {} for m in subscriptions.members}
    are_racks_useful = subscriptions.are_racks_useful
    by_id = {member.member_id: member for member in subscriptions.members}
    for (names, count), topics in _like_topics(subscriptions).items():
        ordered = sorted((by_id[name] for name in names), key=_place)
        shares = _shares(count, len(ordered))
        if are_racks_useful:
            numbers = _near_first(subscriptions, ordered, shares, topics, count)
        else:
            numbers = _contiguous(shares)
        for member, mine in zip(ordered, numbers, strict=True):
            if mine:
                for topic_id in topics:
                    result[member.member_id][topic_id] = set(mine)
    return result


def _place(member: MemberSubscription) -> tuple[bool, str, str]:
    """Static members first: their place must not depend on an id that changes."""
    return (member.instance_id is None, member.instance_id or "", member.member_id)


def _like_topics(
    subscriptions: Subscriptions,
) -> dict[tuple[tuple[str, ...], int], list[UUID]]:
    """(subscribers, partitions) -> the topics that have both."""
    subscribers: dict[UUID, list[str]] = defaultdict(list)
    for member in subscriptions.members:
        for topic_id in member.topics:
            subscribers[topic_id].append(member.member_id)
    like: dict[tuple[tuple[str, ...], int], list[UUID]] = defaultdict(list)
    for topic_id, topic in subscriptions.topics.items():
        names = tuple(subscribers.get(topic_id, ()))
        if names:
            like[names, topic.partition_count].append(topic_id)
    return like


def _shares(count: int, members: int) -> list[int]:
    least, over = divmod(count, members)
    return [least + 1] * over + [least] * (members - over)


def _contiguous(shares: list[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    start = 0
    for share in shares:
        ranges.append(list(range(start, start + share)))
        start += share
    return ranges


def _near_first(
    subscriptions: Subscriptions,
    members: list[MemberSubscription],
    shares: list[int],
    topics: list[UUID],
    count: int,
) -> list[list[int]]:
    # By rack, so that a member does not look at what is far from it.
    near_to: dict[str, list[int]] = defaultdict(list)
    for number in range(count):
        of_topics = (subscriptions.topics[topic_id].racks_of(number) for topic_id in topics)
        for rack in frozenset.intersection(*of_topics):
            near_to[rack].append(number)
    left_of = {rack: iter(numbers) for rack, numbers in near_to.items()}
    is_taken = [False] * count
    taken: list[list[int]] = []
    for member, share in zip(members, shares, strict=True):
        left = left_of.get(member.rack_id or "", iter(()))
        near = list(islice((number for number in left if not is_taken[number]), share))
        for number in near:
            is_taken[number] = True
        taken.append(near)
    free = [number for number in range(count) if not is_taken[number]]
    for mine, share in zip(taken, shares, strict=True):
        missing = share - len(mine)
        mine += free[:missing]
        free = free[missing:]
    return taken
