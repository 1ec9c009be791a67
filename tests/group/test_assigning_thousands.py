"""Assignors run within a heartbeat: thousands of members and partitions must not hold the node.

What is counted is how often a name is looked at. Once for each partition and member is far too
much (3.7 s of the loop for 1,000 members of 10,000 partitions with racks).
"""

from uuid import UUID

import pytest

from kafkapy.group.assignors import ASSIGNORS, MemberSubscription, Subscriptions
from kafkapy.group.share.simple import Subscriber, assign
from kafkapy.group.topics import Topic

MEMBERS = 60
PARTITIONS = 600
# What looking at each partition for each member would cost at least is 36,000.
ENOUGH = 15 * (MEMBERS + PARTITIONS)
A = UUID(int=1)


class Looks:
    def __init__(self) -> None:
        self.count = 0


class Watched(str):
    """A name that counts how often it is hashed: by each look into a set or dict."""

    __slots__ = ("looks",)
    looks: Looks

    def __hash__(self) -> int:
        self.looks.count += 1
        return str.__hash__(self)


def watched(text: str, looks: Looks) -> Watched:
    name = Watched(text)
    name.looks = looks
    return name


@pytest.mark.parametrize("has_racks", [False, True])
@pytest.mark.parametrize("name", list(ASSIGNORS))
def test_consumers_are_assigned_without_looking_at_everything_for_everybody(
    name: str, has_racks: bool
) -> None:
    looks = Looks()
    racks = tuple(frozenset([watched(f"r{number % 3}", looks)]) for number in range(PARTITIONS))
    topics = {A: Topic("a", A, PARTITIONS, racks if has_racks else ())}
    members = tuple(
        MemberSubscription(
            watched(f"m{number:03}", looks),
            None,
            watched(f"r{number % 3}", looks) if has_racks else None,
            frozenset({A}),
            {},
        )
        for number in range(MEMBERS)
    )
    looks.count = 0
    assigned = ASSIGNORS[name](Subscriptions(members, topics))
    assert {len(partitions[A]) for partitions in assigned.values()} == {PARTITIONS // MEMBERS}
    assert looks.count < ENOUGH


def test_share_groups_are_assigned_without_looking_at_everything_for_everybody() -> None:
    looks = Looks()
    can_be_read = {A: frozenset(range(PARTITIONS))}
    names = [watched(f"m{number:03}", looks) for number in range(MEMBERS)]
    looks.count = 0
    found = assign([Subscriber(name, frozenset({A}), {}) for name in names], can_be_read)
    assert {len(target[A]) for target in found.values()} == {PARTITIONS // MEMBERS}
    assert looks.count < ENOUGH
    # One more comes: it gets its share from the others.
    had = [Subscriber(name, frozenset({A}), found[name]) for name in names]
    more = Subscriber(watched("late", looks), frozenset({A}), {})
    looks.count = 0
    found = assign([*had, more], can_be_read)
    assert len(found["late"][A]) == PARTITIONS // (MEMBERS + 1)
    assert looks.count < ENOUGH
