"""What the SimpleAssignor of share groups promises, over any subscriptions."""

from random import Random
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.group.share.member import Target
from kafkapy.group.share.simple import Subscriber, assign

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def one(name: str, topics: frozenset[UUID] = frozenset({A}), **had: frozenset[int]) -> Subscriber:
    ids = {"a": A, "b": B, "c": C}
    return Subscriber(name, topics, {ids[key]: value for key, value in had.items()})


def sizes(assigned: dict[str, Target]) -> dict[str, int]:
    return {name: sum(map(len, target.values())) for name, target in assigned.items()}


def test_partitions_are_shared_out_evenly() -> None:
    assigned = assign([one("x"), one("y"), one("z")], {A: frozenset(range(7))})
    assert sorted(sizes(assigned).values()) == [2, 2, 3]


def test_more_members_than_partitions_read_them_together() -> None:
    assigned = assign([one(name) for name in "vwxyz"], {A: frozenset({0, 1})})
    assert sizes(assigned) == dict.fromkeys("vwxyz", 1)
    readers = [sum(0 in target[A] for target in assigned.values())]
    assert readers in ([2], [3])


def test_a_new_member_gets_its_share_and_nothing_else_moves() -> None:
    had = [one("x", a=frozenset({0, 2, 4})), one("y", a=frozenset({1, 3, 5}))]
    assigned = assign([*had, one("z")], {A: frozenset(range(6))})
    assert sizes(assigned) == {"x": 2, "y": 2, "z": 2}
    assert assigned["x"][A] < {0, 2, 4}
    assert assigned["y"][A] < {1, 3, 5}


def test_what_a_member_that_left_had_goes_to_the_others() -> None:
    had = [one("x", a=frozenset({0, 3})), one("y", a=frozenset({1, 4}))]
    assigned = assign(had, {A: frozenset(range(6))})
    assert assigned["x"][A] > {0, 3}
    assert assigned["y"][A] > {1, 4}


def test_who_reads_little_leaves_the_rest_to_others() -> None:
    both = frozenset({A, B})
    assigned = assign([one("x", both), one("y")], {A: frozenset({0, 1}), B: frozenset({0, 1})})
    assert assigned["x"] == {B: frozenset({0, 1})}
    assert assigned["y"] == {A: frozenset({0, 1})}


def test_nobody_and_nothing() -> None:
    assert assign([], {A: frozenset({0})}) == {}
    assert assign([one("x"), one("y", frozenset())], {}) == {"x": {}, "y": {}}


def drawn(seed: int) -> tuple[list[Subscriber], dict[UUID, frozenset[int]]]:
    chance = Random(seed)
    can_be_read = {
        topic_id: frozenset(chance.sample(range(8), chance.randrange(9))) for topic_id in (A, B, C)
    }
    subscribers = []
    for number in range(chance.randrange(1, 9)):
        topics = frozenset(chance.sample([A, B, C], chance.randrange(4)))
        had = {
            topic_id: frozenset(chance.sample(range(9), chance.randrange(5)))
            for topic_id in (A, B, C)
            if chance.random() < 0.5
        }
        subscribers.append(Subscriber(f"m{number}", topics, had))
    return subscribers, can_be_read


@given(st.integers(0, 2**32).map(drawn))
@settings(max_examples=200)
def test_every_partition_is_read_and_every_member_reads(
    asked: tuple[list[Subscriber], dict[UUID, frozenset[int]]],
) -> None:
    subscribers, can_be_read = asked
    assigned = assign(subscribers, can_be_read)
    for subscriber in subscribers:
        target = assigned[subscriber.member_id]
        may = {topic: can_be_read[topic] for topic in subscriber.topic_ids if can_be_read[topic]}
        assert all(target[topic] <= may.get(topic, frozenset()) for topic in target)
        assert bool(target) == bool(may)
    for topic_id, numbers in can_be_read.items():
        targets = [
            assigned[subscriber.member_id]
            for subscriber in subscribers
            if topic_id in subscriber.topic_ids
        ]
        read = {number for target in targets for number in target.get(topic_id, ())}
        assert read == (numbers if targets else set())
