"""The rules of one partition: leadership, ISR, ELR, reassignment."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.kraft.controller.partitions.partition_change import Election, PartitionChange
from kafkapy.kraft.image.topics import RECOVERED, RECOVERING, PartitionState, changed
from kafkapy.kraft.records.metadata import PartitionChangeRecord

TOPIC = UUID(int=7)
HOME = UUID(int=1 << 90)
NEW = UUID(int=1 << 91)


def _state(replicas: Iterable[int] = (1, 2, 3), **fields: Any) -> PartitionState:
    of = tuple(replicas)
    usual = PartitionState(
        replicas=of,
        isr=of,
        leader=of[0],
        leader_epoch=5,
        partition_epoch=9,
        directories=(HOME,) * len(of),
    )
    return usual._replace(**fields)


def _record(
    state: PartitionState, alive: Iterable[int] = (1, 2, 3), **wanted: Any
) -> PartitionChangeRecord | None:
    living = frozenset(alive)
    usual = PartitionChange(
        state=state,
        topic_id=TOPIC,
        index=0,
        is_acceptable=living.__contains__,
        min_isr=1,
        metadata_version=30,
        elr_enabled=True,
        default_directory=lambda broker: NEW,
    )
    return replace(usual, **wanted).record()


def _after(
    state: PartitionState, alive: Iterable[int] = (1, 2, 3), **wanted: Any
) -> PartitionState:
    record = _record(state, alive, **wanted)
    return state if record is None else changed(state, record)


def test_nothing_wanted_nothing_written() -> None:
    assert _record(_state()) is None
    assert _record(_state(), isr=(1, 2, 3)) is None


def test_a_good_leader_stays_even_if_it_is_not_preferred() -> None:
    assert _record(_state(leader=2)) is None


def test_a_preferred_election_moves_leadership_to_the_first_replica() -> None:
    after = _after(_state(leader=2), election=Election.PREFERRED)
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (1, 6, 10)


def test_a_preferred_election_keeps_the_leader_if_the_first_replica_cannot() -> None:
    assert _record(_state(leader=2), alive=(2, 3), election=Election.PREFERRED) is None
    assert _record(_state(leader=2, isr=(2, 3)), election=Election.PREFERRED) is None


def test_the_first_replica_in_sync_succeeds_a_leader_that_left() -> None:
    after = _after(_state((3, 1, 2)), alive=(1, 2), isr=(1, 2))
    assert (after.leader, after.isr, after.leader_epoch) == (1, (1, 2), 6)


def test_an_isr_that_shrinks_leaves_the_leader_epoch() -> None:
    after = _after(_state(), isr=(1, 2))
    assert (after.isr, after.leader_epoch, after.partition_epoch) == ((1, 2), 5, 10)


def test_before_3_6_an_isr_that_shrinks_bumps_the_leader_epoch() -> None:
    after = _after(_state(), isr=(1, 2), metadata_version=11, elr_enabled=False)
    assert after.leader_epoch == 6
    grown = _after(_state(isr=(1,)), isr=(1, 2), metadata_version=11, elr_enabled=False)
    assert grown.leader_epoch == 5


def test_without_elr_the_last_in_sync_replica_stays_in_the_isr() -> None:
    after = _after(_state(isr=(1,)), alive=(2, 3), isr=(), elr_enabled=False)
    assert (after.leader, after.isr) == (-1, (1,))


def test_with_elr_the_isr_may_become_empty_and_who_left_is_eligible() -> None:
    after = _after(_state(isr=(1,)), alive=(2, 3), isr=())
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (-1, (), (1,), (1,))


def test_replicas_that_leave_below_min_isr_are_eligible() -> None:
    after = _after(_state(), isr=(1, 2), min_isr=3)
    assert after.elr == (3,)
    further = _after(after, isr=(1,), min_isr=3)
    assert further.elr == (2, 3)
    assert _after(further, isr=(1, 2, 3), min_isr=3).elr == ()


def test_an_unclean_shutdown_ends_eligibility() -> None:
    state = _state(isr=(1,), elr=(2, 3))
    assert _after(state, min_isr=3, unclean_shutdown=(2,)).elr == (3,)


def test_an_eligible_replica_is_elected_when_the_isr_is_empty() -> None:
    state = _state(isr=(), elr=(2, 3), leader=-1, last_known_elr=(1,))
    after = _after(state, alive=(3,), min_isr=2)
    assert (after.leader, after.isr, after.elr) == (3, (3,), (2,))
    assert after.last_known_elr == ()
    assert after.leader_recovery_state == RECOVERED


def test_the_last_leader_comes_back_when_nobody_is_eligible() -> None:
    state = _state(isr=(), leader=-1, last_known_elr=(2,))
    after = _after(state, alive=(1, 2))
    assert (after.leader, after.isr, after.last_known_elr) == (2, (2,), ())
    assert after.leader_recovery_state == RECOVERING
    assert _record(state, alive=(1, 3)) is None


def test_an_unclean_election_takes_whoever_is_alive_and_says_so() -> None:
    state = _state(isr=(1,))
    assert _after(state, alive=(2, 3), isr=()).leader == -1
    after = _after(state, alive=(2, 3), isr=(), election=Election.UNCLEAN, elr_enabled=False)
    assert (after.leader, after.isr, after.leader_recovery_state) == (2, (2,), RECOVERING)


def test_an_unclean_election_is_clean_if_it_can_be() -> None:
    after = _after(_state(isr=(1, 3)), alive=(2, 3), isr=(3,), election=Election.UNCLEAN)
    assert (after.leader, after.leader_recovery_state) == (3, RECOVERED)


def test_a_reassignment_waits_for_the_whole_target() -> None:
    moving = {"replicas": (4, 5, 1, 2), "removing": (1, 2), "adding": (4, 5)}
    started = _after(_state((1, 2)), alive=(1, 2, 4, 5), **moving)
    assert started.replicas == (4, 5, 1, 2)
    assert started.adding_replicas == (4, 5)
    assert started.directories == (NEW, NEW, HOME, HOME)
    halfway = _after(started, alive=(1, 2, 4, 5), isr=(1, 2, 4))
    assert halfway.is_reassigning
    done = _after(halfway, alive=(1, 2, 4, 5), isr=(1, 2, 4, 5))
    assert not done.is_reassigning
    assert (done.replicas, done.isr, done.leader) == ((4, 5), (4, 5), 4)
    assert done.directories == (NEW, NEW)


def test_who_was_moved_away_is_not_eligible() -> None:
    """Nobody could be elected any more: it was waited for, and will never be a replica again."""
    moving = {"replicas": (2, 1), "removing": (1,), "adding": (2,), "min_isr": 2}
    started = _after(_state((1,)), alive=(1, 2), **moving)
    done = _after(started, alive=(1, 2), isr=(1, 2), min_isr=2)
    assert (done.replicas, done.isr, done.elr) == ((2,), (2,), ())
    died = _after(done, alive=(1,), isr=(), unclean_shutdown=(2,), min_isr=2)
    assert (died.leader, died.elr) == (-1, ())
    assert _after(died, alive=(1, 2), min_isr=2).leader == 2


def test_a_reordering_completes_at_once() -> None:
    after = _after(_state(), replicas=(3, 2, 1), removing=(), adding=())
    assert (after.replicas, after.leader, after.leader_epoch) == ((3, 2, 1), 1, 5)


def test_replicas_that_leave_bump_the_leader_epoch_of_a_leader_that_stays() -> None:
    after = _after(_state(), replicas=(1, 2, 3), removing=(3,))
    assert (after.replicas, after.isr, after.leader) == ((1, 2), (1, 2), 1)
    assert after.leader_epoch == 6


def test_a_directory_is_noted_for_the_replica_that_names_it() -> None:
    after = _after(_state(), directories={2: NEW})
    assert after.directories == (HOME, NEW, HOME)
    assert _record(after, directories={2: NEW}) is None


def test_recovery_ends_with_the_change_that_says_so() -> None:
    state = _state(isr=(1,), leader_recovery_state=RECOVERING)
    after = _after(state, isr=(1, 2), recovery=RECOVERED)
    assert (after.isr, after.leader_recovery_state) == ((1, 2), RECOVERED)


REPLICAS = st.permutations([1, 2, 3, 4])


@pytest.mark.parametrize("elr_enabled", [True, False])
@given(data=st.data())
def test_after_any_change_the_invariants_hold(elr_enabled: bool, data: st.DataObject) -> None:
    """One partition through a random life: replicas come and go, leave and are moved."""
    state = _state((1, 2, 3))
    min_isr = data.draw(st.integers(1, 3))
    for _ in range(8):
        alive = data.draw(st.sets(st.integers(1, 4)))
        wanted: dict[str, Any] = {"isr": tuple(one for one in state.isr if one in alive)}
        kind = data.draw(st.sampled_from(["isr", "join", "elect", "move"]))
        if kind == "join" and state.leader in alive:
            wanted["isr"] = tuple(one for one in state.replicas if one in alive)
        if kind == "elect":
            wanted["election"] = data.draw(st.sampled_from(Election))
        if kind == "move":
            target = tuple(data.draw(REPLICAS)[:3])
            removing = tuple(sorted(set(state.replicas) - set(target)))
            wanted["replicas"] = target + removing
            wanted["removing"] = removing
            wanted["adding"] = tuple(sorted(set(target) - set(state.replicas)))
        before = state
        state = _after(state, alive, min_isr=min_isr, elr_enabled=elr_enabled, **wanted)
        _check(before, state, alive, min_isr, elr_enabled)


def _check(
    before: PartitionState, after: PartitionState, alive: set[int], min_isr: int, elr: bool
) -> None:
    assert len(set(after.replicas)) == len(after.replicas) == len(after.directories)
    assert set(after.isr) <= set(after.replicas)
    assert set(after.elr) <= set(after.replicas)
    assert not set(after.isr) & set(after.elr)
    if after.has_leader:
        assert after.leader in after.isr
        assert after.leader in alive or after == before
    if elr:
        assert len(after.isr) < min_isr or not after.elr
    else:
        assert after.isr, "never emptied without ELR"
        assert not after.elr
    assert after.partition_epoch == before.partition_epoch + (after != before)
    assert after.leader_epoch - before.leader_epoch in (0, 1)
    if after.leader != before.leader:
        assert after.leader_epoch == before.leader_epoch + 1
