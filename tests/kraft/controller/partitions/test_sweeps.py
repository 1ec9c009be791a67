"""What happens to many partitions happens a slice at a time, and ends as if it were at once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.brokers.liveness import BrokerDied, UnregisterBroker
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.kraft.controller.partitions.elections import ElectLeaders
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.features import ELR_VERSION
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.records.metadata import BrokerRegistrationChangeRecord, PartitionChangeRecord
from kafkapy.kraft.storage.bootstrap import default_bootstrap
from tests.kraft.controller.fakes import Cluster, directory_of

COUNT = 7


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "SLICE", 2)


def cluster_of_many(*replicas: int) -> Cluster:
    cluster = Cluster(brokers=3)
    cluster.create("t", *[replicas or (1, 2, 3)] * COUNT)
    return cluster


def states(cluster: Cluster) -> list[PartitionState]:
    return [cluster.partition("t", index) for index in range(COUNT)]


def longest_batch(cluster: Cluster, since: int) -> int:
    ends = [end for end in cluster.log.ends if end > since]
    return max(end - begin for begin, end in zip([since, *ends], ends, strict=False))


def test_a_broker_is_fenced_once_it_is_out_of_every_isr() -> None:
    cluster = cluster_of_many()
    before = cluster.log.next_offset
    cluster.wait(11_000, silent=(1,))
    assert {(one.leader, one.isr) for one in states(cluster)} == {(2, (2, 3))}
    records = cluster.log.records[before:]
    assert isinstance(records[-1], BrokerRegistrationChangeRecord)
    assert sum(isinstance(one, PartitionChangeRecord) for one in records) == COUNT
    assert longest_batch(cluster, before) <= 3


def test_a_broker_that_is_heard_of_meanwhile_stays() -> None:
    cluster = cluster_of_many()
    died = BrokerDied(1, cluster.image.brokers[1].epoch, cluster.clock.now())
    outcomes: list[object] = []
    cluster.controller.submit(died, outcomes.append)
    cluster.clock._now += 1  # without what is due
    assert not cluster.beat(1).is_fenced
    cluster.clock.advance(0)
    assert len(outcomes) == 1
    assert not cluster.image.brokers[1].fenced
    assert {one.leader for one in states(cluster)} == {1}


def test_one_that_shuts_down_goes_when_all_it_led_has_moved() -> None:
    cluster = cluster_of_many()
    assert not cluster.beat(1, wants_shutdown=True).should_shut_down
    assert not cluster.beat(1, wants_shutdown=True).should_shut_down
    cluster.clock.advance(0)
    behind = cluster.log.next_offset - 2
    cluster.beat(2, metadata_offset=behind)
    assert not cluster.beat(1, wants_shutdown=True).should_shut_down, "2 does not know it all"
    cluster.beat(2)
    cluster.beat(3)
    assert cluster.beat(1, wants_shutdown=True).should_shut_down
    assert {one.leader for one in states(cluster)} == {2}


def test_one_that_comes_back_leads_what_nobody_led() -> None:
    cluster = cluster_of_many(1)
    cluster.wait(11_000, silent=(1,))
    assert {one.leader for one in states(cluster)} == {-1}
    cluster.unfence(1)
    cluster.clock.advance(0)
    assert {one.leader for one in states(cluster)} == {1}


def test_leaders_are_looked_for_by_the_next_controller() -> None:
    """It was fenced, came back, and the controller fell after the first slice."""
    cluster = cluster_of_many(1)
    cluster.wait(11_000, silent=(1,))
    cluster.unfence(1)
    assert {one.leader for one in states(cluster)} == {1, -1}
    committed = cluster.log.image()
    cluster.controller.resign()
    cluster.controller.lead(committed, ())
    cluster.clock.advance(0)
    assert {one.leader for one in states(cluster)} == {1}


def test_who_registers_waits_for_the_end_of_it() -> None:
    cluster = cluster_of_many()
    committed = cluster.log.image()
    cluster.controller.resign()
    cluster.controller.lead(committed, ())  # which has heard of nobody yet
    outcomes: list[object] = []
    cluster.controller.submit(cluster.registration(2), outcomes.append)
    assert outcomes == [], "2 is in every ISR"
    assert cluster.refusal(cluster.registration(2)) is ErrorCode.REQUEST_TIMED_OUT
    cluster.clock.advance(0)
    assert not isinstance(outcomes[0], Refused)
    assert {one.isr for one in states(cluster)} == {(1, 3)}


def test_one_that_is_unregistered_is_out_of_everything_first() -> None:
    cluster = cluster_of_many()
    cluster.ask_in_time(UnregisterBroker(1))
    assert 1 not in cluster.image.brokers
    assert {one.isr for one in states(cluster)} == {(2, 3)}


def test_a_directory_that_fails_moves_its_leaders() -> None:
    cluster = cluster_of_many()
    cluster.ask_in_time(cluster.heartbeat(1, offline_dirs=(directory_of(1),)))
    assert {one.leader for one in states(cluster)} == {2}
    assert {one.isr for one in states(cluster)} == {(2, 3)}


def test_a_topic_that_goes_meanwhile_is_left_out() -> None:
    cluster = cluster_of_many()
    topic_id = cluster.create("u", *[(1, 2)] * COUNT)
    outcomes: list[object] = []
    epoch = cluster.image.brokers[1].epoch
    cluster.controller.submit(BrokerDied(1, epoch, cluster.clock.now()), outcomes.append)
    cluster.delete(topic_id)
    cluster.clock.advance(0)
    assert len(outcomes) == 1
    assert cluster.image.brokers[1].fenced


def test_changes_of_many_isrs_are_answered_together() -> None:
    cluster = cluster_of_many()
    topic_id = cluster.image.topics_by_name["t"].id
    changes = tuple(
        NewIsr(topic_id, index, state.leader_epoch, state.partition_epoch, ((1, -1), (2, -1)))
        for index, state in enumerate(states(cluster))
    )
    wrong = replace(changes[3], partition_epoch=99)
    asked = AlterPartition(1, cluster.image.brokers[1].epoch, (*changes[:3], wrong, *changes[4:]))
    before = cluster.log.next_offset
    reply = cluster.ask_in_time(asked)
    assert [isinstance(one, Refused) for one in reply] == [one is wrong for one in asked.partitions]
    assert longest_batch(cluster, before) == 2
    assert cluster.partition("t", 6).isr == (1, 2)


def test_who_resigns_between_two_slices_says_so() -> None:
    cluster = cluster_of_many()
    topic_id = cluster.image.topics_by_name["t"].id
    changes = tuple(
        NewIsr(topic_id, index, state.leader_epoch, state.partition_epoch, ((1, -1), (2, -1)))
        for index, state in enumerate(states(cluster))
    )
    outcomes: list[object] = []
    event = AlterPartition(1, cluster.image.brokers[1].epoch, changes)
    cluster.controller.submit(event, outcomes.append)
    cluster.controller.resign()
    cluster.clock.advance(0)
    (refused,) = outcomes
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.NOT_CONTROLLER


def test_leaders_of_many_are_elected_together() -> None:
    cluster = cluster_of_many()
    cluster.ask_in_time(cluster.heartbeat(1, wants_fence=True))
    cluster.unfence(1)
    topic_id = cluster.image.topics_by_name["t"].id
    for index in range(COUNT - 1):
        state = cluster.partition("t", index)
        isr = ((1, -1), (2, -1), (3, -1))
        change = NewIsr(topic_id, index, state.leader_epoch, state.partition_epoch, isr)
        cluster.ask(AlterPartition(2, cluster.image.brokers[2].epoch, (change,)))
    before = cluster.log.next_offset
    reply = cluster.ask_in_time(ElectLeaders(None))
    assert longest_batch(cluster, before) == 2
    assert [one.leader for one in states(cluster)] == [1] * (COUNT - 1) + [2]
    codes = {where.partition: verdict and verdict.code for where, verdict in reply.items()}
    expected = dict.fromkeys(range(COUNT - 1), None)
    assert codes == {**expected, COUNT - 1: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    again = ElectLeaders(tuple(reply))
    codes = {
        where.partition: verdict and verdict.code
        for where, verdict in cluster.ask_in_time(again).items()
    }
    assert codes[0] is ErrorCode.ELECTION_NOT_NEEDED


def test_who_waits_for_one_sweep_is_not_forgotten_for_another() -> None:
    """Somebody unregisters a broker that is about to shut down by itself."""
    cluster = cluster_of_many()
    outcomes: list[object] = []
    cluster.controller.submit(UnregisterBroker(1), outcomes.append)
    beat = cluster.heartbeat(1, wants_shutdown=True)
    assert cluster.refusal(beat) is ErrorCode.REQUEST_TIMED_OUT
    cluster.clock.advance(0)
    assert len(outcomes) == 1
    assert 1 not in cluster.image.brokers


def test_without_an_elr_a_broker_that_is_the_last_everywhere_can_be_unregistered() -> None:
    """Nothing changes in its partitions, however often they are swept."""
    without = [one for one in default_bootstrap() if getattr(one, "name", "") != ELR_VERSION]
    cluster = Cluster(brokers=3, bootstrap=without)
    cluster.create("t", *[(1,)] * COUNT)
    cluster.wait(11_000, silent=(1,))
    cluster.ask_in_time(UnregisterBroker(1))
    assert 1 not in cluster.image.brokers


def test_who_comes_back_and_dies_at_once_is_given_nothing_more_to_lead() -> None:
    """It is fenced in the middle of the sweep that counts it as alive."""
    cluster = cluster_of_many(1)
    cluster.wait(11_000, silent=(1,))
    cluster.unfence(1)
    left = [one for one in states(cluster) if one.leader == -1]
    assert left
    cluster.fence(1)
    cluster.clock.advance(0)
    assert {one.leader for one in states(cluster)} == {-1}


def test_one_that_is_heard_of_meanwhile_leads_again_what_was_taken_from_it() -> None:
    """It is never fenced, so it will not be unfenced, which is when leaders are looked for; and
    nobody else may lead what it alone has."""
    cluster = Cluster(brokers=2, balances_leaders=False)
    cluster.create("t", *[(1,)] * COUNT)
    died = BrokerDied(1, cluster.image.brokers[1].epoch, cluster.clock.now())
    outcomes: list[object] = []
    cluster.controller.submit(died, outcomes.append)
    for _ in range(2):
        cluster.clock.next_timer()
    assert [one.leader for one in states(cluster)].count(-1) == 4
    cluster.clock._now += 1
    assert not cluster.beat(1).is_fenced
    cluster.clock.advance(0)
    assert len(outcomes) == 1
    assert not cluster.image.brokers[1].fenced
    assert {one.leader for one in states(cluster)} == {1}


def dies(cluster: Cluster, broker: int) -> Any:
    return BrokerDied(broker, cluster.image.brokers[broker].epoch, cluster.clock.now())


def comes_back(cluster: Cluster, broker: int) -> Any:
    """Having stopped cleanly, as far as can be told."""
    return cluster.registration(broker)


@pytest.mark.parametrize("event", [dies, comes_back])
def test_two_that_go_at_once_are_not_given_what_the_other_leaves(
    event: Callable[[Cluster, int], Any],
) -> None:
    """Each was alive for the sweep of the other, got back what it had just been taken out of, and
    so was never out of everything: records without end, and nobody could register (seed 465)."""
    cluster = Cluster(brokers=3, balances_leaders=False)
    # Who leaves such an ISR stays eligible, and is elected when the other one leaves.
    cluster.create("t", *[(1, 2)] * COUNT, **{"min.insync.replicas": "2"})
    committed = cluster.log.image()
    cluster.controller.resign()
    cluster.controller.lead(committed, ())  # which has heard of nobody yet
    outcomes: list[object] = []
    cluster.controller.submit(event(cluster, 1), outcomes.append)
    cluster.clock.next_timer()
    cluster.clock.next_timer()
    cluster.controller.submit(event(cluster, 2), outcomes.append)
    for _ in range(10 * COUNT):
        if len(outcomes) < 2:
            cluster.clock.next_timer()
    assert len(outcomes) == 2
    assert not any(isinstance(one, Refused) for one in outcomes)
    assert all(cluster.image.brokers[broker].fenced for broker in (1, 2))
    assert {one.leader for one in states(cluster)} == {-1}
