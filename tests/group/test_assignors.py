"""What assignors promise, over any subscriptions."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.group.assignors import ASSIGNORS, MemberSubscription, Subscriptions
from kafkapy.group.assignors.subscriptions import Partitions
from kafkapy.group.topics import Topic

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def member(
    name: str,
    topics: frozenset[UUID] = frozenset({A}),
    rack: str | None = None,
    instance: str | None = None,
    **assigned: frozenset[int],
) -> MemberSubscription:
    ids = {"a": A, "b": B, "c": C}
    return MemberSubscription(
        name, instance, rack, topics, {ids[key]: value for key, value in assigned.items()}
    )


def topics(*racks: list[frozenset[str]], **counts: int) -> dict[UUID, Topic]:
    ids = {"a": A, "b": B, "c": C}
    found = {}
    for place, (key, count) in enumerate(counts.items()):
        of = tuple(racks[place]) if place < len(racks) else ()
        found[ids[key]] = Topic(key, ids[key], count, of)
    return found


def counts(assigned: dict[str, Partitions]) -> dict[str, int]:
    return {name: sum(map(len, owned.values())) for name, owned in assigned.items()}


def test_uniform_is_even() -> None:
    subscriptions = Subscriptions(
        tuple(member(name, frozenset({A, B})) for name in "xyz"), topics(a=4, b=4)
    )
    assert sorted(counts(ASSIGNORS["uniform"](subscriptions)).values()) == [2, 3, 3]


def test_uniform_moves_as_little_as_it_can() -> None:
    everything = frozenset(range(6))
    members = (member("x", a=everything), member("y"), member("z"))
    first = ASSIGNORS["uniform"](Subscriptions(members, topics(a=6)))
    assert counts(first) == {"x": 2, "y": 2, "z": 2}
    kept = {name: member(name, a=frozenset(owned.get(A, ()))) for name, owned in first.items()}
    gone = Subscriptions((kept["x"], kept["z"]), topics(a=6))
    second = ASSIGNORS["uniform"](gone)
    assert second["x"][A] > first["x"][A]
    assert second["z"][A] > first["z"][A]
    assert counts(second) == {"x": 3, "z": 3}


def test_uniform_prefers_the_members_rack_without_being_uneven() -> None:
    racks = [frozenset({"r1"}), frozenset({"r1"}), frozenset({"r2"}), frozenset({"r2"})]
    members = (member("x", rack="r2"), member("y", rack="r1"))
    assigned = ASSIGNORS["uniform"](Subscriptions(members, topics(racks, a=4)))
    assert assigned == {"x": {A: {2, 3}}, "y": {A: {0, 1}}}


def test_racks_do_not_make_uniform_uneven() -> None:
    racks = [frozenset({"r1"})] * 4
    members = (member("x", rack="r1"), member("y", rack="r1"), member("z", rack="r2"))
    assigned = ASSIGNORS["uniform"](Subscriptions(members, topics(racks, a=4)))
    assert sorted(counts(assigned).values()) == [1, 1, 2]


def test_uniform_balances_unequal_subscriptions() -> None:
    members = (
        member("x", frozenset({A}), a=frozenset(range(8))),
        member("y", frozenset({A, B}), b=frozenset(range(2))),
    )
    assigned = ASSIGNORS["uniform"](Subscriptions(members, topics(a=8, b=2)))
    assert counts(assigned) == {"x": 5, "y": 5}
    assert assigned["y"][B] == {0, 1}


def test_range_is_contiguous_in_the_order_of_members() -> None:
    members = tuple(member(name) for name in "zxy")
    assigned = ASSIGNORS["range"](Subscriptions(members, topics(a=7)))
    assert assigned == {"x": {A: {0, 1, 2}}, "y": {A: {3, 4}}, "z": {A: {5, 6}}}


def test_range_gives_like_topics_the_same_ranges() -> None:
    members = tuple(member(name, frozenset({A, B})) for name in "xy")
    assigned = ASSIGNORS["range"](Subscriptions(members, topics(a=4, b=4)))
    assert assigned == {"x": {A: {0, 1}, B: {0, 1}}, "y": {A: {2, 3}, B: {2, 3}}}


def test_range_orders_static_members_by_instance() -> None:
    members = (member("9", instance="a"), member("1", instance="b"), member("0"))
    assigned = ASSIGNORS["range"](Subscriptions(members, topics(a=3)))
    assert assigned == {"9": {A: {0}}, "1": {A: {1}}, "0": {A: {2}}}


def test_range_fills_shares_from_the_own_rack_first() -> None:
    racks = [frozenset({"r2"}), frozenset({"r1"}), frozenset({"r2"}), frozenset({"r1"})]
    members = (member("x", rack="r1"), member("y", rack="r2"))
    assigned = ASSIGNORS["range"](Subscriptions(members, topics(racks, a=4)))
    assert assigned == {"x": {A: {1, 3}}, "y": {A: {0, 2}}}


def test_replicas_in_every_rack_make_racks_not_matter() -> None:
    racks = [frozenset({"r1", "r2"})] * 4
    members = (member("x", rack="r1"), member("y", rack="r2"))
    subscriptions = Subscriptions(members, topics(racks, a=4))
    assert not subscriptions.are_racks_useful
    assert ASSIGNORS["range"](subscriptions) == {"x": {A: {0, 1}}, "y": {A: {2, 3}}}


def drawn(seed: int) -> Subscriptions:
    """Some subscriptions; one seed rather than many draws, which would take ten times longer."""
    chance = Random(seed)

    def some(of: list[str]) -> frozenset[str]:
        return frozenset(chance.sample(of, chance.randrange(len(of))))

    with_racks = chance.random() < 0.5
    known = {}
    for topic_id, name in ((A, "a"), (B, "b"), (C, "c")):
        count = chance.randrange(8)
        racks = tuple(some(["r1", "r2", "r3"]) for _ in range(count)) if with_racks else ()
        known[topic_id] = Topic(name, topic_id, count, racks)
    members = []
    for number in range(chance.randrange(6)):
        subscribed = frozenset(chance.sample([A, B, C], chance.randint(1, 3)))
        had = {
            topic_id: frozenset(chance.sample(range(9), chance.randrange(5)))
            for topic_id in (A, B, C)
            if chance.random() < 0.5
        }
        rack = chance.choice([None, "r1", "r2", "r3"])
        members.append(MemberSubscription(f"m{number}", None, rack, subscribed, had))
    used = {topic for one in members for topic in one.topics}
    return Subscriptions(tuple(members), {key: known[key] for key in used})


SUBSCRIPTIONS = st.integers(0, 2**32).map(drawn)


@pytest.mark.parametrize("name", list(ASSIGNORS))
@given(SUBSCRIPTIONS)
@settings(max_examples=150)
def test_every_partition_has_one_owner_who_subscribes(name: str, asked: Subscriptions) -> None:
    assigned = ASSIGNORS[name](asked)
    wanted = [
        (topic_id, number)
        for topic_id, topic in asked.topics.items()
        for number in range(topic.partition_count)
    ]
    owned = [
        (topic_id, number)
        for owner, partitions in assigned.items()
        for topic_id, numbers in partitions.items()
        for number in numbers
    ]
    assert sorted(owned) == sorted(wanted)
    by_id = {one.member_id: one for one in asked.members}
    assert all(set(assigned[name]) <= by_id[name].topics for name in assigned)
    assert set(assigned) == set(by_id)


@given(SUBSCRIPTIONS)
@settings(max_examples=150)
def test_uniform_cannot_be_made_more_even(asked: Subscriptions) -> None:
    """Nobody has two more than another who subscribes to something of it."""
    assigned = ASSIGNORS["uniform"](asked)
    size = counts(assigned)
    for giver, partitions in assigned.items():
        for taker in asked.members:
            if any(topic in taker.topics and numbers for topic, numbers in partitions.items()):
                assert size[giver] - size[taker.member_id] <= 1


@given(SUBSCRIPTIONS)
@settings(max_examples=100)
def test_uniform_leaves_what_it_made_as_it_is(asked: Subscriptions) -> None:
    first = ASSIGNORS["uniform"](asked)
    settled = tuple(
        one._replace(assigned={t: frozenset(n) for t, n in first[one.member_id].items()})
        for one in asked.members
    )
    assert ASSIGNORS["uniform"](Subscriptions(settled, asked.topics)) == first
