"""Whom the share coordinators are asked for, in which order, and again."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.metadata.internal_topics import SHARE_GROUP_STATE
from kafkapy.broker.share.states import PATIENCE_MS, ShareStates
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.share.coordinator.events import DeleteState, Done, InitializeState, ReadState
from kafkapy.share.coordinator.state import ShareKey
from tests.coordinator.fakes import FakeClock

KEY = ShareKey("g", UUID(int=7), 0)
OTHER = ShareKey("g", UUID(int=7), 1)
LOST = Refused(ErrorCode.NETWORK_EXCEPTION)
INITIALIZE, DELETE = ApiKey.INITIALIZE_SHARE_GROUP_STATE, ApiKey.DELETE_SHARE_GROUP_STATE


class Node:
    """Node 2 coordinates all of it, and answers when it is told to."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.asked: list[int] = []
        self._then: list[Callable[[Any], None]] = []
        self.replies: list[Any] = []
        topic = SimpleNamespace(partitions={0: SimpleNamespace(leader=2)})
        image: Any = SimpleNamespace(topics_by_name={SHARE_GROUP_STATE: topic})
        others: Any = SimpleNamespace(call=self._call)
        shards: Any = None
        self.states = ShareStates(
            node_id=1,
            clock=self.clock,
            other_nodes=others,
            image=lambda: image,
            shards=shards,
            create_topic=lambda _: None,
        )

    def _call(self, _node: int, key: int, _version: int, _body: Any, _ms: int, then: Any) -> None:
        self.asked.append(key)
        self._then.append(then)

    def ask(self, event: Any) -> None:
        self.states.ask(event, self.replies.append)

    def answer(self, what: Any = None) -> None:
        row = SimpleNamespace(partition=0, error_code=0, error_message=None)
        topic = SimpleNamespace(topic_id=KEY.topic_id, partitions=[row])
        self._then.pop(0)(SimpleNamespace(results=[topic]) if what is None else what)


@pytest.fixture
def node() -> Node:
    return Node()


def test_what_was_not_answered_is_asked_again(node: Node) -> None:
    node.ask(InitializeState(KEY, 1, -1))
    node.answer(LOST)
    node.clock.advance(1_000)
    assert node.asked == [INITIALIZE] * 2
    node.answer()
    assert node.replies == [Done()]


def test_a_state_is_not_begun_behind_the_deletion_of_its_group(node: Node) -> None:
    """A request that is lost comes again, but not behind what was asked since."""
    node.ask(InitializeState(KEY, 5, -1))
    node.ask(DeleteState(KEY))
    assert node.asked == [INITIALIZE], "one after the other"
    node.answer(LOST)
    assert node.asked == [INITIALIZE, DELETE]
    node.answer()
    node.clock.advance(PATIENCE_MS)
    assert node.asked == [INITIALIZE, DELETE]
    assert node.replies == [LOST, Done()]


def test_nor_once_it_waits_to_be_asked_again(node: Node) -> None:
    node.ask(InitializeState(KEY, 5, -1))
    node.answer(LOST)
    node.ask(DeleteState(KEY))
    node.clock.advance(1_000)
    assert node.asked == [INITIALIZE, DELETE]
    node.answer()
    node.clock.advance(PATIENCE_MS)
    assert node.asked == [INITIALIZE, DELETE]


def test_a_later_group_begins_when_the_former_is_deleted(node: Node) -> None:
    node.ask(DeleteState(KEY))
    node.ask(InitializeState(KEY, 1, -1))
    node.answer(LOST)
    node.clock.advance(1_000)
    assert node.asked == [DELETE, DELETE], "a deletion is asked until it is done"
    node.answer()
    assert node.asked[2:] == [INITIALIZE]
    node.answer()
    assert node.replies == [Done(), Done()]


def test_other_partitions_and_readers_do_not_wait(node: Node) -> None:
    node.ask(InitializeState(KEY, 1, -1))
    node.ask(DeleteState(OTHER))
    node.ask(ReadState(KEY, 1))
    assert node.asked == [INITIALIZE, DELETE, ApiKey.READ_SHARE_GROUP_STATE]


def test_who_waits_is_told_when_the_node_stops(node: Node) -> None:
    node.ask(InitializeState(KEY, 1, -1))
    node.ask(DeleteState(KEY))
    node.states.close()
    node.answer(LOST)
    assert [one.code for one in node.replies] == [
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ]
