"""Elections on request, and the periodic ones."""

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.kraft.controller.partitions.elections import (
    BalanceLeaders,
    ElectLeaders,
    ElectUncleanly,
)
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from tests.kraft.controller.fakes import Cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def _cluster(**configs: str) -> Cluster:
    cluster = Cluster(brokers=3)
    cluster.create("t", (1, 2), (2, 3), **configs)
    return cluster


def _code(verdict: Refused | None) -> ErrorCode:
    assert isinstance(verdict, Refused), verdict
    return verdict.code


def _rejoin(cluster: Cluster, broker: int) -> None:
    """Back to life and, by its leaders' word, back in every ISR."""
    cluster.unfence(broker)
    for topic in cluster.image.topics_by_name.values():
        for index, state in topic.partitions.items():
            if broker in state.replicas and state.has_leader and broker not in state.isr:
                wanted = NewIsr(
                    topic.id,
                    index,
                    state.leader_epoch,
                    state.partition_epoch,
                    tuple((one, -1) for one in (*state.isr, broker)),
                )
                epoch = cluster.image.brokers[state.leader].epoch
                cluster.ask(AlterPartition(state.leader, epoch, (wanted,)))


def test_leadership_goes_back_to_the_preferred_replica() -> None:
    cluster = _cluster()
    cluster.fence(1)
    assert cluster.partition("t").leader == 2
    _rejoin(cluster, 1)
    assert cluster.partition("t").leader == 2
    assert cluster.ask(ElectLeaders((T0,))) == {T0: None}
    assert cluster.partition("t").leader == 1


def test_who_needs_no_election_is_told_so_unless_all_were_asked() -> None:
    cluster = _cluster()
    assert _code(cluster.ask(ElectLeaders((T0,)))[T0]) is ErrorCode.ELECTION_NOT_NEEDED
    assert cluster.ask(ElectLeaders(None)) == {}
    unclean = cluster.ask(ElectLeaders((T0,), is_unclean=True))
    assert _code(unclean[T0]) is ErrorCode.ELECTION_NOT_NEEDED


def test_a_preferred_replica_that_is_down_cannot_be_elected() -> None:
    cluster = _cluster()
    cluster.fence(1)
    reply = cluster.ask(ElectLeaders((T0, T1)))
    assert _code(reply[T0]) is ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert _code(reply[T1]) is ErrorCode.ELECTION_NOT_NEEDED
    assert set(cluster.ask(ElectLeaders(None))) == {T0}


@pytest.mark.parametrize("where", [TopicPartition("t", 9), TopicPartition("nope", 0)])
def test_what_does_not_exist_cannot_be_elected(where: TopicPartition) -> None:
    reply = _cluster().ask(ElectLeaders((where,)))
    assert _code(reply[where]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _last_one_gone(cluster: Cluster) -> None:
    """Partition 0 has only broker 1 in its ISR, which then dies; broker 2 is alive, behind."""
    cluster.fence(2)
    cluster.fence(1)
    cluster.unfence(2)
    assert cluster.partition("t").leader == -1


def test_an_unclean_election_on_request_takes_who_is_alive() -> None:
    cluster = _cluster()
    _last_one_gone(cluster)
    assert cluster.ask(ElectLeaders((T0,), is_unclean=True)) == {T0: None}
    state = cluster.partition("t")
    assert (state.leader, state.isr, state.leader_recovery_state) == (2, (2,), 1)


def test_with_nobody_alive_there_is_nobody_to_elect() -> None:
    cluster = _cluster()
    cluster.fence(2)
    cluster.fence(1)
    reply = cluster.ask(ElectLeaders((T0,), is_unclean=True))
    assert _code(reply[T0]) is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def test_the_periodic_unclean_election_minds_the_topics_setting() -> None:
    cluster = _cluster()
    _last_one_gone(cluster)
    assert cluster.ask(ElectUncleanly()) is False
    assert cluster.partition("t").leader == -1


def test_a_topic_that_allows_it_gets_a_leader_uncleanly_at_once() -> None:
    cluster = _cluster(unclean_leader_election_enable="true")
    cluster.fence(2)
    cluster.fence(1)
    assert cluster.partition("t").leader == -1
    cluster.unfence(2)
    assert cluster.partition("t").leader == 2


def test_the_periodic_balance_moves_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = _cluster()
    cluster.fence(1)
    cluster.fence(2)
    assert cluster.partition("t", 1).leader == 3
    _rejoin(cluster, 2)
    _rejoin(cluster, 1)
    monkeypatch.setattr(sweeps, "SLICE", 1)
    assert cluster.ask(BalanceLeaders()) is True
    cluster.clock.advance(0)
    assert cluster.ask(BalanceLeaders()) is False
    assert (cluster.partition("t", 0).leader, cluster.partition("t", 1).leader) == (1, 2)


def test_balancing_comes_round_by_itself() -> None:
    cluster = _cluster()
    cluster.fence(1)
    _rejoin(cluster, 1)
    cluster.wait(301_000)
    assert cluster.partition("t").leader == 1
