"""Changes of in-sync replicas reach the controller together, and are asked until answered."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.replication.isr_changes import IsrChanges
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr, PartitionAgreed
from kafkapy.sim.world.clock import SimClock

TOPIC = UUID(int=5)
AGREED = PartitionAgreed(1, 3, 8, (1, 2), 0)


class Kit:
    def __init__(self) -> None:
        self.clock = SimClock()
        self.asked: list[tuple[AlterPartition, Callable[[Any], None]]] = []
        self.changes = IsrChanges(self, self.clock, lambda them: AlterPartition(1, 7, them))  # type: ignore[arg-type]  # of a link only this is used
        self.heard: dict[int, Any] = {}

    def alter_partition(self, event: AlterPartition, then: Callable[[Any], None]) -> None:
        self.asked.append((event, then))

    def propose(self, index: int) -> None:
        change = NewIsr(TOPIC, index, 3, 7, ((1, 10), (2, 20)))
        self.changes.propose(change, lambda verdict: self.heard.update({index: verdict}))

    def indexes(self) -> list[int]:
        return [one.index for one in self.asked[-1][0].partitions]

    def answer(self, reply: Any) -> None:
        self.asked[-1][1](reply)


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_what_is_proposed_in_one_go_is_one_request(kit: Kit) -> None:
    kit.propose(0)
    kit.propose(1)
    kit.clock.settle()
    assert [kit.indexes()] == [[0, 1]]
    kit.answer((AGREED, Refused(ErrorCode.INELIGIBLE_REPLICA)))
    assert kit.heard[0] == AGREED
    assert kit.heard[1].code is ErrorCode.INELIGIBLE_REPLICA


def test_while_one_is_under_way_the_next_waits(kit: Kit) -> None:
    kit.propose(0)
    kit.clock.settle()
    kit.propose(1)
    kit.clock.settle()
    assert len(kit.asked) == 1
    kit.answer((AGREED,))
    kit.clock.advance(100)
    assert kit.indexes() == [1]


@pytest.mark.parametrize(
    "reply", [Refused(ErrorCode.NOT_CONTROLLER), (Refused(ErrorCode.NOT_CONTROLLER),)]
)
def test_what_nobody_decided_is_asked_again(kit: Kit, reply: Any) -> None:
    kit.propose(0)
    kit.clock.settle()
    kit.answer(reply)
    assert not kit.heard
    kit.clock.advance(100)
    assert len(kit.asked) == 2
    kit.answer((AGREED,))
    assert kit.heard == {0: AGREED}


def test_what_was_withdrawn_or_replaced_is_not_heard(kit: Kit) -> None:
    kit.propose(0)
    kit.propose(1)
    kit.clock.settle()
    kit.changes.withdraw(TOPIC, 0)
    kit.propose(1)
    kit.answer((AGREED, AGREED))
    assert not kit.heard
    kit.clock.advance(100)
    assert kit.indexes() == [1]


def test_after_the_end_nobody_is_asked_or_told(kit: Kit) -> None:
    kit.propose(0)
    kit.clock.settle()
    kit.changes.close()
    kit.answer((AGREED,))
    kit.clock.advance(1000)
    assert (len(kit.asked), kit.heard) == (1, {})
