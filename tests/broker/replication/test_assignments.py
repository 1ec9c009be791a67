"""Where replicas are reaches the controller together, and is told until it was heard."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.replication.assignments import MOST_AT_ONCE, RETRY_MS, DirectoryAssignments
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.partitions.directories import AssignReplicas
from kafkapy.sim.world.clock import SimClock

TOPIC, HERE, THERE = UUID(int=500), UUID(int=1000), UUID(int=2000)


class Kit:
    def __init__(self) -> None:
        self.clock = SimClock()
        self.asked: list[tuple[AssignReplicas, Callable[[Any], None]]] = []
        self.assignments = DirectoryAssignments(
            self,  # type: ignore[arg-type]  # of a link only this is used
            self.clock,
            lambda them: AssignReplicas(1, 7, tuple(them)),
        )

    def assign_directories(self, event: AssignReplicas, then: Callable[[Any], None]) -> None:
        self.asked.append((event, then))

    def tell(self, *indexes: int, directory: UUID = HERE) -> None:
        for index in indexes:
            self.assignments.tell(TOPIC, index, directory)
        self.clock.settle()

    def told(self) -> list[tuple[int, UUID]]:
        return [(one.index, one.directory) for one in self.asked[-1][0].replicas]

    def answer(self, reply: Any = None) -> None:
        event, then = self.asked[-1]
        then((None,) * len(event.replicas) if reply is None else reply)
        self.clock.settle()


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_what_is_told_in_one_go_is_one_request(kit: Kit) -> None:
    kit.tell(0, 1)
    assert len(kit.asked) == 1
    assert kit.told() == [(0, HERE), (1, HERE)]
    kit.answer()
    kit.clock.advance(10_000)
    assert len(kit.asked) == 1


def test_while_one_is_under_way_the_next_wait_together(kit: Kit) -> None:
    kit.tell(0)
    kit.tell(1)
    kit.tell(2)
    assert len(kit.asked) == 1
    kit.answer()
    assert kit.told() == [(1, HERE), (2, HERE)]


def test_thousands_go_in_bounded_requests(kit: Kit) -> None:
    kit.tell(*range(MOST_AT_ONCE + 1))
    assert len(kit.told()) == MOST_AT_ONCE
    kit.answer()
    assert kit.told() == [(MOST_AT_ONCE, HERE)]


def test_nobody_heard_it_so_it_is_told_again(kit: Kit) -> None:
    kit.tell(0)
    kit.answer(Refused(ErrorCode.NOT_CONTROLLER))
    assert len(kit.asked) == 1
    kit.clock.advance(RETRY_MS)
    assert len(kit.asked) == 2
    assert kit.told() == [(0, HERE)]


def test_a_replica_that_moved_meanwhile_is_told_anew(kit: Kit) -> None:
    kit.tell(0)
    kit.tell(0, directory=THERE)
    kit.answer()
    assert kit.told() == [(0, THERE)]
    kit.answer()
    assert len(kit.asked) == 2


@pytest.mark.parametrize(
    "reply", [(Refused(ErrorCode.UNKNOWN_TOPIC_ID),), Refused(ErrorCode.UNSUPPORTED_VERSION)]
)
def test_what_will_never_be_taken_is_told_once(kit: Kit, reply: Any) -> None:
    kit.tell(0)
    kit.answer(reply)
    kit.clock.advance(10_000)
    assert len(kit.asked) == 1


def test_what_the_metadata_says_by_itself_is_not_told(kit: Kit) -> None:
    kit.assignments.tell(TOPIC, 0, HERE)
    kit.assignments.known(TOPIC, 0)
    kit.clock.settle()
    assert not kit.asked
