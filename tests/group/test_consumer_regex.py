"""Subscriptions by regular expression, resolved by the coordinator."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.group.consumer import regexes
from kafkapy.group.settings import Bounded
from tests.group.world import ConsumerClient, World, settle


@pytest.fixture
def world() -> World:
    made = World(consumer_assignment_interval_ms=Bounded(0, 0, 15_000))
    for name in ("orders-eu", "orders-us", "returns"):
        made.topics.create(name, 2)
    return made


def matching(world: World, pattern: str, **more: object) -> ConsumerClient:
    return ConsumerClient(world, topics=None, regex=pattern, **more)  # type: ignore[arg-type]


def test_a_pattern_stands_for_the_topics_it_matches_whole(world: World) -> None:
    client = matching(world, "orders-..")
    client.beat()
    assert client.partitions("orders-eu") == client.partitions("orders-us") == {0, 1}
    assert client.partitions("returns") == set()


def test_names_and_pattern_of_one_member_are_both_meant(world: World) -> None:
    client = ConsumerClient(world, topics=("returns",), regex="orders-eu")
    client.beat()
    assert client.partitions("returns") == client.partitions("orders-eu") == {0, 1}


def test_a_pattern_that_is_none_is_refused(world: World) -> None:
    assert matching(world, "(a").beat().error is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds(world: World) -> None:
    client = matching(world, "orders-.*")
    client.beat()
    world.topics.create("orders-ap", 1)
    world.clock.advance(5_000)
    client.beat()
    assert client.partitions("orders-ap") == set()
    world.clock.advance(5_000)
    client.beat()
    assert client.partitions("orders-ap") == {0}


def test_an_old_look_is_repeated(world: World) -> None:
    allowed = {"orders-eu"}
    client = matching(world, "orders-.*")
    client.beat(may_describe=lambda name: name in allowed)
    allowed.add("orders-us")
    for _ in range(120):
        world.clock.advance(5_000)
        client.beat(may_describe=lambda name: name in allowed)
    assert client.partitions("orders-us") == {0, 1}


def test_what_a_member_may_not_describe_it_does_not_get(world: World) -> None:
    client = matching(world, ".*")
    client.beat(may_describe=lambda name: name != "returns")
    assert client.partitions("returns") == set()
    assert client.partitions("orders-eu") == {0, 1}


def test_one_resolution_serves_all_members_with_the_pattern(world: World) -> None:
    clients = [matching(world, "orders-.*") for _ in range(2)]
    settle(world, clients)
    assert set(world.group().regexes) == {"orders-.*"}
    assert sum(len(c.partitions("orders-eu")) for c in clients) == 2


def test_a_pattern_nobody_uses_is_forgotten(world: World) -> None:
    first, second = matching(world, "orders-.*"), matching(world, "returns")
    settle(world, [first, second], 2)
    first.beat(subscribed_regex="orders-eu")
    assert set(world.group().regexes) == {"orders-eu", "returns"}
    second.leave()
    assert set(world.replayed().groups["shoppers"].regexes) == {"orders-eu"}  # type: ignore[union-attr]
    first.beat(subscribed_regex="", subscribed_topics=("returns",))
    assert world.group().regexes == {}


def test_a_resolution_survives_the_leader(world: World) -> None:
    client = matching(world, "orders-.*")
    client.beat()
    written = len(world.log.batches)
    world.restart()
    client.beat()
    assert client.partitions("orders-eu") == {0, 1}
    assert len(world.log.batches) == written


def test_many_names_are_looked_at_in_slices(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regexes, "WORK_PER_SLICE", 300)
    for number in range(200):
        world.topics.create(f"bulk-{number:03}", 1)
    client = matching(world, "bulk-.*5")
    client.beat()
    assert client.told == {}
    world.clock.advance(0)
    assert world.group().resolving == {}
    settle(world, [client], 1)
    assert len(client.told or {}) == 20


def test_a_slice_that_goes_on_after_its_users_left_writes_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regexes, "WORK_PER_SLICE", 1)
    client = matching(world, "orders-.*")
    client.beat()
    client.leave()
    world.clock.advance(0)
    assert world.group().regexes == {}
    assert world.group().resolving == {}
    assert world.group().looks == {}
