"""AlterPartition: which ISR the controller accepts, and what it says of the others."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.controller.partitions.reassignments import AlterReassignments, Reassignment
from kafkapy.kraft.image.topics import RECOVERING, PartitionState
from tests.kraft.controller.fakes import Cluster


def _cluster() -> Cluster:
    cluster = Cluster(brokers=4)
    cluster.create("t", (1, 2, 3))
    return cluster


def _wanted(cluster: Cluster, *isr: int, **fields: Any) -> NewIsr:
    state = cluster.partition("t")
    brokers = cluster.image.brokers
    usual = NewIsr(
        topic_id=cluster.image.topics_by_name["t"].id,
        index=0,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        isr=tuple((one, brokers[one].epoch if one in brokers else 1) for one in isr),
    )
    return replace(usual, **fields)


def _ask(cluster: Cluster, wanted: NewIsr, sender: int = 1) -> PartitionState | Refused:
    event = AlterPartition(sender, cluster.image.brokers[sender].epoch, (wanted,))
    (answer,) = cluster.ask(event)
    assert isinstance(answer, PartitionState | Refused)
    return answer


def _code(cluster: Cluster, wanted: NewIsr, sender: int = 1) -> ErrorCode:
    answer = _ask(cluster, wanted, sender)
    assert isinstance(answer, Refused), answer
    return answer.code


def test_a_leader_shrinks_and_grows_its_isr() -> None:
    cluster = _cluster()
    answer = _ask(cluster, _wanted(cluster, 1, 2))
    assert answer == cluster.partition("t")
    assert cluster.partition("t").isr == (1, 2)
    assert cluster.partition("t").partition_epoch == 1
    _ask(cluster, _wanted(cluster, 1, 2, 3))
    assert cluster.partition("t").isr == (1, 2, 3)


def test_a_change_that_changes_nothing_is_answered_with_what_is() -> None:
    cluster = _cluster()
    assert _ask(cluster, _wanted(cluster, 1, 2, 3)) == cluster.partition("t")
    assert cluster.partition("t").partition_epoch == 0


def test_a_stale_sender_is_refused_as_a_whole() -> None:
    cluster = _cluster()
    event = AlterPartition(1, 12345, (_wanted(cluster, 1),))
    assert cluster.refusal(event) is ErrorCode.STALE_BROKER_EPOCH
    assert cluster.refusal(replace(event, broker_id=9)) is ErrorCode.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ((1,), {"topic_id": UUID(int=1234)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ((1,), {"index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ((1,), {"leader_epoch": 99}, ErrorCode.NOT_CONTROLLER),
        ((1,), {"partition_epoch": 99}, ErrorCode.NOT_CONTROLLER),
        ((1,), {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ((1,), {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ((1, 1), {}, ErrorCode.INVALID_REQUEST),
        ((1, 4), {}, ErrorCode.INVALID_REQUEST),
        ((2, 3), {}, ErrorCode.INVALID_REQUEST),
        ((), {}, ErrorCode.INVALID_REQUEST),
        ((1, 2), {"recovery": RECOVERING}, ErrorCode.INVALID_REQUEST),
        ((1,), {"recovery": RECOVERING}, ErrorCode.INVALID_REQUEST),
        ((1,), {"recovery": 7}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_isr_that_cannot_be_says_what_the_leader_missed(
    isr: tuple[int, ...], fields: dict[str, Any], code: ErrorCode
) -> None:
    cluster = _cluster()
    assert _code(cluster, _wanted(cluster, *isr, **fields)) is code
    assert cluster.partition("t").partition_epoch == 0


def test_only_the_leader_may_ask() -> None:
    cluster = _cluster()
    assert _code(cluster, _wanted(cluster, 1, 2), sender=2) is ErrorCode.INVALID_REQUEST


def test_fenced_leaving_and_restarted_brokers_are_ineligible() -> None:
    cluster = _cluster()
    cluster.fence(3)
    assert _code(cluster, _wanted(cluster, 1, 2, 3)) is ErrorCode.INELIGIBLE_REPLICA
    before_restart = _wanted(cluster, 1, 2)
    cluster.fence(2)
    cluster.wait(20_000)
    cluster.register(2)
    cluster.unfence(2)
    state = cluster.partition("t")
    stale = replace(before_restart, partition_epoch=state.partition_epoch)
    assert _code(cluster, stale) is ErrorCode.INELIGIBLE_REPLICA
    unknowing = _wanted(cluster, 1, 2, isr=((1, -1), (2, -1)))
    assert _ask(cluster, unknowing) == cluster.partition("t")


def test_a_leader_that_completes_its_own_removal_is_told_of_the_new_one() -> None:
    cluster = _cluster()
    move = Reassignment(TopicPartition("t", 0), (4, 2))
    cluster.ask(AlterReassignments((move,)))
    assert _code(cluster, _wanted(cluster, 1, 2, 3, 4)) is ErrorCode.NEW_LEADER_ELECTED
    state = cluster.partition("t")
    assert (state.replicas, state.leader, state.isr) == ((4, 2), 4, (2, 4))
