"""What the judge of a share group does not let pass."""

import pytest

from kafkapy.core.time import Instant
from kafkapy.sim.cluster.clients.sharers import (
    DELIVERIES,
    Delivery,
    Settled,
    ShareFacts,
    drawn_facts,
    settings_of_group,
)
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng


def _came(member: str, asked: int, heard: int, deliveries: int = 1) -> Delivery:
    return Delivery(member, Instant(asked), Instant(heard), deliveries)


def _over(member: str, came: int, said: int, answered: int) -> Settled:
    return Settled(member, Instant(came), Instant(said), Instant(answered))


def test_what_came_and_was_said_to_be_over_is_fine() -> None:
    facts = ShareFacts()
    facts.came("x", _came("a", 0, 5))
    facts.came("x", _came("b", 20, 25, 2))
    facts.said.add("x")
    facts.is_over("x", _over("b", 25, 30, 35))
    facts.judge(["x"])


def test_what_is_over_does_not_come_again() -> None:
    facts = ShareFacts()
    facts.came("x", _came("a", 0, 5))
    facts.is_over("x", _over("a", 5, 6, 10))
    facts.came("x", _came("b", 9, 20, 2))  # it was asked for before
    with pytest.raises(BrokenPromise, match="was over"):
        facts.came("x", _came("b", 11, 20, 2))


def test_nobody_has_a_record_while_another_one_does() -> None:
    facts = ShareFacts()
    facts.came("x", _came("a", 0, 5))
    facts.came("x", _came("b", 6, 8, 2))
    with pytest.raises(BrokenPromise, match="in two hands"):
        facts.is_over("x", _over("a", 5, 9, 10))


def test_nothing_comes_more_often_than_it_may() -> None:
    facts = ShareFacts()
    facts.came("x", _came("a", 0, 5, DELIVERIES))
    with pytest.raises(BrokenPromise, match=f"the {DELIVERIES + 1}th time"):
        facts.came("x", _came("a", 10, 15, DELIVERIES + 1))


def test_what_nobody_got_or_only_released_is_lost_to_the_group() -> None:
    facts = ShareFacts()
    facts.came("x", _came("a", 0, 5))
    with pytest.raises(BrokenPromise, match="x is lost to the group"):
        facts.judge(["x"])
    facts.came("x", _came("a", 10, 15, DELIVERIES))
    facts.judge(["x"])


def test_of_an_aborted_transaction_nothing_comes_to_who_reads_what_is_committed() -> None:
    for reads_committed in (False, True):
        facts = ShareFacts(reads_committed=reads_committed)
        facts.came("x", _came("a", 0, 5))
        if reads_committed:
            with pytest.raises(BrokenPromise, match="x came, and was never committed"):
                facts.judge([])
        else:
            facts.judge([])


def test_groups_are_set_in_different_ways() -> None:
    drawn = [drawn_facts(SimRng(seed)) for seed in range(40)]
    assert {one.max_record_locks for one in drawn} == {100, 200, 2_000}
    assert {one.reads_committed for one in drawn} == {False, True}
    settings = settings_of_group(drawn[0]).body["resources"][0]["configs"]
    told = {one["name"]: one["value"] for one in settings}
    assert told["share.partition.max.record.locks"] == str(drawn[0].max_record_locks)
