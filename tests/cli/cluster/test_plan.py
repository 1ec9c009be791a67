"""The planner by its properties, over any cluster that hypothesis thinks of."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kafkapy.cli.cluster.plan import Impossible, Placement, Site, planned

RACKS = ("a", "b", "c", None)


def moves(before: Placement, after: Placement) -> int:
    """Replicas that somebody has to fetch."""
    return sum(len(set(after[where]) - set(before[where])) for where in before)


def loads(placement: Placement, brokers: frozenset[int]) -> list[int]:
    held = Counter(one for replicas in placement.values() for one in replicas)
    return [held[one] for one in sorted(brokers)]


def leads(placement: Placement, brokers: frozenset[int]) -> list[int]:
    held = Counter(replicas[0] for replicas in placement.values())
    return [held[one] for one in sorted(brokers)]


def spread(replicas: tuple[int, ...], racks: Mapping[int, str | None]) -> int:
    """The less, the more evenly over racks."""
    return sum(count**2 for count in Counter(racks[one] for one in replicas).values())


def best_spread(factor: int, site: Site) -> int:
    """Replicas one by one to the rack that has least, as long as it has brokers."""
    room = Counter(site.racks[one] for one in site.open)
    there: Counter[str | None] = Counter()
    for _ in range(factor):
        there[min((one for one in room if there[one] < room[one]), key=lambda one: there[one])] += 1
    return sum(count**2 for count in there.values())


@some.composite
def clusters(draw: some.DrawFn, racks: tuple[str | None, ...] = RACKS) -> tuple[Placement, Site]:
    """A placement as somebody's hand made it, and brokers of which some hold nothing yet."""
    count = draw(some.integers(1, 7))
    site = Site({one: draw(some.sampled_from(racks)) for one in range(count)}, frozenset())
    placement: Placement = {}
    for topic in ("orders", "returns", "mails")[: draw(some.integers(1, 3))]:
        factor = draw(some.integers(1, min(count, 4)))
        for index in range(draw(some.integers(1, 8))):
            replicas = draw(some.permutations(range(count)))[:factor]
            placement[topic, index] = tuple(replicas)
    new = {count: draw(some.sampled_from(racks))} if draw(some.booleans()) else {}
    all_racks = {**site.racks, **new}
    return placement, Site(all_racks, frozenset(all_racks))


@given(clusters())
def test_replicas_stay_as_many_and_are_spread_as_far_as_racks_allow(
    cluster: tuple[Placement, Site],
) -> None:
    before, site = cluster
    after = planned(before, site)
    assert after.keys() == before.keys()
    for where, replicas in after.items():
        assert len(set(replicas)) == len(replicas) == len(before[where])
        assert site.open.issuperset(replicas)
        assert spread(replicas, site.racks) == best_spread(len(replicas), site)


@given(clusters(racks=(None,)))
def test_without_racks_all_is_even_by_as_few_moves_as_there_can_be(
    cluster: tuple[Placement, Site],
) -> None:
    """Whoever holds more than the even share must give what is above it, whoever holds less
    must get what lacks: a move does one of each."""
    before, site = cluster
    after = planned(before, site)
    assert max(loads(after, site.open)) - min(loads(after, site.open)) <= 1
    least, more = divmod(sum(loads(before, site.open)), len(site.open))
    above = sum(max(0, one - least - bool(more)) for one in loads(before, site.open))
    below = sum(max(0, least - one) for one in loads(before, site.open))
    assert moves(before, after) == max(above, below)


@given(clusters())
def test_a_plan_that_was_carried_out_has_nothing_left_to_do(
    cluster: tuple[Placement, Site],
) -> None:
    before, site = cluster
    after = planned(before, site)
    assert planned(after, site) == after


@given(clusters())
def test_leaders_are_as_even_as_replicas_allow(cluster: tuple[Placement, Site]) -> None:
    """Nobody leads two more than somebody who could have one of them, over any others."""
    before, site = cluster
    after = planned(before, site)
    held = dict(zip(sorted(site.open), leads(after, site.open), strict=True))
    for most in held:
        reached = {most}
        while True:
            more = {
                one for replicas in after.values() if replicas[0] in reached for one in replicas
            } - reached
            if not more:
                break
            reached |= more
        assert all(held[most] - held[one] <= 1 for one in reached)


@given(clusters(), some.data())
def test_who_leaves_holds_nothing_and_nobody_else_moves(
    cluster: tuple[Placement, Site], data: some.DataObject
) -> None:
    before, site = cluster
    gone = data.draw(some.sampled_from(sorted(site.racks)))
    rest = Site({one: rack for one, rack in site.racks.items() if one != gone}, site.open - {gone})
    try:
        after = planned(before, rest, evens_out=False)
    except Impossible:
        assert max(map(len, before.values())) > len(rest.open)
        return
    for where, replicas in before.items():
        if gone in replicas:
            assert gone not in after[where]
            assert len(set(after[where])) == len(replicas)
            assert len(set(after[where]) - set(replicas)) == 1
        else:
            assert after[where] == replicas
    assert moves(before, after) == sum(gone in replicas for replicas in before.values())


@given(clusters(), some.data())
def test_a_topic_gets_as_many_replicas_as_it_is_to_have(
    cluster: tuple[Placement, Site], data: some.DataObject
) -> None:
    """Fewer: nothing is fetched by anybody. More: only what lacks."""
    before, site = cluster
    factor = data.draw(some.integers(1, len(site.open)))
    after = planned(before, site, factors={"orders": factor}, evens_out=False)
    for where, replicas in before.items():
        if where[0] != "orders":
            assert after[where] == replicas
            continue
        assert len(set(after[where])) == len(after[where]) == factor
        common = set(after[where]) & set(replicas)
        assert len(common) == min(factor, len(replicas))


@given(clusters())
def test_who_may_get_nothing_new_keeps_what_it_has_and_gets_nothing(
    cluster: tuple[Placement, Site],
) -> None:
    """A fenced broker: it is there again some day, and not now."""
    before, site = cluster
    away = min(site.racks)
    if len(site.open) == 1:
        return
    after = planned(before, site._replace(open=site.open - {away}))
    for where, replicas in after.items():
        assert away not in set(replicas) - set(before[where])
        assert replicas[0] != away or replicas == (away,)


def test_of_what_may_move_the_smallest_partition_moves() -> None:
    before: Placement = {("orders", one): (1,) for one in range(3)}
    site = Site({1: None, 2: None}, frozenset({1, 2}))
    sizes = {("orders", 0): 900, ("orders", 1): 5, ("orders", 2): 700}
    assert planned(before, site, sizes=sizes) == {**before, ("orders", 1): (2,)}


def test_of_two_topics_the_one_moves_that_is_most_uneven() -> None:
    before: Placement = {("orders", one): (1,) for one in range(4)}
    before |= {("mails", 0): (1,), ("mails", 1): (2,)}
    after = planned(before, Site({1: None, 2: None}, frozenset({1, 2})))
    assert moves(before, after) == 2
    assert after["mails", 0] == (1,)


def test_too_few_brokers_are_refused_by_the_first_partition_that_lacks_one() -> None:
    before: Placement = {("orders", 0): (1, 2), ("orders", 1): (2, 3)}
    with pytest.raises(Impossible, match=r"orders-0 should have 2 replicas"):
        planned(before, Site({2: None}, frozenset({2})), evens_out=False)
