"""Moving partitions to other replicas."""

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.controller.partitions.reassignments import (
    AlterReassignments,
    ListReassignments,
    Reassignment,
)
from tests.kraft.controller.fakes import Cluster

T0 = TopicPartition("t", 0)


def _cluster() -> Cluster:
    cluster = Cluster(brokers=5)
    cluster.create("t", (1, 2, 3))
    return cluster


def _move(cluster: Cluster, *replicas: int, where: TopicPartition = T0) -> Refused | None:
    reply = cluster.ask(AlterReassignments((Reassignment(where, replicas),)))
    verdict: Refused | None = reply[where]
    return verdict


def _cancel(cluster: Cluster) -> Refused | None:
    verdict: Refused | None = cluster.ask(AlterReassignments((Reassignment(T0, None),)))[T0]
    return verdict


def _catch_up(cluster: Cluster, *isr: int) -> None:
    state = cluster.partition("t")
    topic = cluster.image.topics_by_name["t"]
    wanted = NewIsr(
        topic.id,
        0,
        state.leader_epoch,
        state.partition_epoch,
        tuple((one, -1) for one in isr),
    )
    epoch = cluster.image.brokers[state.leader].epoch
    cluster.ask(AlterPartition(state.leader, epoch, (wanted,)))


def test_a_partition_moves_once_its_new_replicas_are_in_sync() -> None:
    cluster = _cluster()
    assert _move(cluster, 4, 5, 1) is None
    state = cluster.partition("t")
    assert state.replicas == (4, 5, 1, 2, 3)
    assert (state.adding_replicas, state.removing_replicas) == ((4, 5), (2, 3))
    assert list(cluster.ask(ListReassignments(None))) == [T0]
    assert list(cluster.ask(ListReassignments((T0,)))) == [T0]
    _catch_up(cluster, 1, 2, 3, 4, 5)
    state = cluster.partition("t")
    assert (state.replicas, state.leader) == ((4, 5, 1), 1)
    assert set(state.isr) == {1, 4, 5}
    assert cluster.ask(ListReassignments(None)) == {}


def test_a_new_order_is_there_at_once() -> None:
    cluster = _cluster()
    assert _move(cluster, 3, 1, 2) is None
    assert cluster.partition("t").replicas == (3, 1, 2)
    assert not cluster.partition("t").is_reassigning


def test_fewer_replicas_are_there_at_once() -> None:
    cluster = _cluster()
    assert _move(cluster, 2) is None
    state = cluster.partition("t")
    assert (state.replicas, state.isr, state.leader) == ((2,), (2,), 2)


def test_a_target_can_be_replaced_by_another_while_moving() -> None:
    cluster = _cluster()
    _move(cluster, 4, 1, 2)
    _move(cluster, 5, 1, 2)
    state = cluster.partition("t")
    assert state.replicas == (5, 1, 2, 3, 4)
    assert state.removing_replicas == (3, 4)
    _catch_up(cluster, 1, 2, 3, 5)
    assert cluster.partition("t").replicas == (5, 1, 2)


def test_cancelling_goes_back_to_the_old_replicas() -> None:
    cluster = _cluster()
    _move(cluster, 4, 5, 1)
    _catch_up(cluster, 1, 2, 3, 4)
    assert _cancel(cluster) is None
    state = cluster.partition("t")
    assert set(state.replicas) == {1, 2, 3}
    assert set(state.isr) == {1, 2, 3}
    assert not state.is_reassigning


def test_cancelling_nothing_is_refused() -> None:
    refused = _cancel(_cluster())
    assert refused is not None
    assert refused.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_cancelling_must_not_lose_records() -> None:
    cluster = Cluster(brokers=2)
    cluster.create("t", (1,))
    cluster.create("other", (1,))
    assert _move(cluster, 1, 2) is None
    _catch_up(cluster, 1, 2)
    _move(cluster, 2)
    assert cluster.partition("t").replicas == (2,)


@pytest.mark.parametrize(
    ("where", "replicas", "code"),
    [
        (TopicPartition("nope", 0), (1,), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("t", 7), (1,), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (T0, (), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (T0, (1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (T0, (1, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_move_that_cannot_be_says_why(
    where: TopicPartition, replicas: tuple[int, ...], code: ErrorCode
) -> None:
    refused = _move(_cluster(), *replicas, where=where)
    assert refused is not None
    assert refused.code is code


def test_the_replication_factor_can_be_held() -> None:
    cluster = _cluster()

    def move(*replicas: int) -> Refused | None:
        event = AlterReassignments((Reassignment(T0, replicas),), False)
        verdict: Refused | None = cluster.ask(event)[T0]
        return verdict

    for replicas in ((1, 2), (1, 2, 3, 4)):
        refused = move(*replicas)
        assert refused is not None
        assert refused.code is ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(4, 5, 1) is None
    # On the way there are five replicas; the target still has three.
    assert move(1, 2, 4) is None


def test_what_is_not_moving_is_not_listed() -> None:
    cluster = _cluster()
    assert cluster.ask(ListReassignments((T0, TopicPartition("nope", 0)))) == {}
