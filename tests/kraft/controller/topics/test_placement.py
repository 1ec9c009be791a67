"""Replica placement: striped, balanced, rack-aware."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.topics.placement import StripedPlacer, UsableBroker, usable
from tests.kraft.controller.fakes import Cluster, SeededRng, directory_of


def _brokers(*racks: str | None, fenced: tuple[int, ...] = ()) -> list[UsableBroker]:
    return [UsableBroker(at, rack, at in fenced) for at, rack in enumerate(racks)]


@given(
    racks=st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=8),
    fenced=st.sets(st.integers(0, 7)),
    factor=st.integers(1, 8),
    seed=st.integers(0, 1000),
)
def test_replicas_are_distinct_and_led_by_an_unfenced_broker(
    racks: list[str | None], fenced: set[int], factor: int, seed: int
) -> None:
    brokers = _brokers(*racks, fenced=tuple(fenced))
    if factor > len(brokers) or all(one.fenced for one in brokers):
        return
    for replicas in StripedPlacer(brokers, SeededRng(seed)).place(12, factor):
        assert len(set(replicas)) == factor
        assert not brokers[replicas[0]].fenced


@given(seed=st.integers(0, 1000))
def test_leaders_are_spread_evenly(seed: int) -> None:
    placed = StripedPlacer(_brokers(*[None] * 5), SeededRng(seed)).place(50, 3)
    leaders = Counter(replicas[0] for replicas in placed)
    assert set(leaders.values()) == {10}
    assert set(Counter(one for replicas in placed for one in replicas).values()) == {30}


@given(seed=st.integers(0, 1000))
def test_replicas_are_on_as_many_racks_as_there_are(seed: int) -> None:
    racks = ("a", "a", "b", "b", "c", "c")
    for replicas in StripedPlacer(_brokers(*racks), SeededRng(seed)).place(30, 3):
        assert {racks[one] for one in replicas} == {"a", "b", "c"}


def test_fenced_brokers_get_replicas_only_where_a_rack_has_no_other() -> None:
    brokers = _brokers("a", "a", "b", fenced=(1,))
    for replicas in StripedPlacer(brokers, SeededRng()).place(10, 2):
        assert set(replicas) == {0, 2}


@pytest.mark.parametrize(
    ("brokers", "factor"),
    [(_brokers(None), 2), (_brokers(None), 0), (_brokers(None, fenced=(0,)), 1)],
)
def test_what_cannot_be_placed_is_refused(brokers: list[UsableBroker], factor: int) -> None:
    with pytest.raises(Refused) as raised:
        StripedPlacer(brokers, SeededRng()).place(1, factor)
    assert raised.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


def test_one_unfenced_broker_can_lead_everything() -> None:
    brokers = _brokers(None, None, fenced=(1,))
    placed = StripedPlacer(brokers, SeededRng()).place(20, 2)
    assert placed == [(0, 1)] * 20


def test_brokers_that_stop_or_whose_directories_are_all_cordoned_get_nothing_new() -> None:
    cluster = Cluster(brokers=3)
    cluster.beat(2, cordoned_dirs=(directory_of(2),))
    cluster.create("led", (3,))
    cluster.beat(3, wants_shutdown=True)
    assert [one.id for one in usable(cluster.image.brokers.values())] == [1]


def test_a_broker_that_has_stopped_gets_new_replicas_and_leads_none() -> None:
    """It is fenced, and will be back: topics are made while nodes are restarted."""
    cluster = Cluster(brokers=2)
    cluster.create("led", (2, 1))
    while not cluster.beat(2, wants_shutdown=True).should_shut_down:
        cluster.beat(1)
    assert cluster.image.brokers[2].in_controlled_shutdown
    found = usable(cluster.image.brokers.values())
    assert [(one.id, one.fenced) for one in found] == [(1, False), (2, True)]
