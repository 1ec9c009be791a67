"""Markers to leaders, here and elsewhere, again and again until nobody wants them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.broker.transactions.marker_sender import RETRY_BACKOFF_MS, MarkerSender
from kafkapy.broker.transactions.marker_writer import Marker, MarkerWriter
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from kafkapy.txn.markers import MarkersDue
from tests.broker.transactions.fakes import FakeNetwork
from tests.coordinator.fakes import FakeClock

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ME, OTHER = 1, 2
WRITE_TXN_MARKERS = 27


class FakeWriter(MarkerWriter):
    """Answers what it is told to, NONE if nothing."""

    def __init__(self) -> None:
        self.errors: dict[TopicPartition, list[ErrorCode]] = {}
        self.written: list[tuple[Marker, TopicPartition]] = []
        self.held: list[Callable[[ErrorCode], None]] | None = None

    def write(
        self, marker: Marker, topic_partition: TopicPartition, then: Callable[[ErrorCode], None]
    ) -> None:
        self.written.append((marker, topic_partition))
        if self.held is not None:
            self.held.append(then)
            return
        errors = self.errors.get(topic_partition)
        then(errors.pop(0) if errors else ErrorCode.NONE)


class Sending:
    def __init__(self, leaders: dict[TopicPartition, int]) -> None:
        self.leaders = leaders
        self.clock = FakeClock()
        self.network = FakeNetwork()
        self.writer = FakeWriter()
        self.is_wanted = True
        self.done: list[TopicPartition] = []
        self.may_come_ms: dict[TopicPartition, int] = {}
        self.sender = MarkerSender(
            node_id=ME,
            clock=self.clock,
            other_nodes=self.network,
            writer=self.writer,
            leader_of=self.leaders.get,
            may_come_ms=lambda one: self.may_come_ms.get(one, 0),
        )

    def send(self, *partitions: TopicPartition, producer_id: int = 7) -> None:
        due = MarkersDue("tx", producer_id, 3, 0, True, frozenset(partitions), 2)
        self.sender.send(due, 5, lambda: self.is_wanted, self.done.extend)

    def answer(self, at: int = 0, **errors: int) -> None:
        """Answer a call the way a broker would, through the bytes of the protocol."""
        call = self.network.calls.pop(at)
        assert (call.api_key, call.version) == (WRITE_TXN_MARKERS, 2)
        asked = decode_request(27, 2, encode_request(27, 2, call.body))
        body = {
            "markers": [
                {
                    "producer_id": marker.producer_id,
                    "topics": [
                        {
                            "name": topic.name,
                            "partitions": [
                                {
                                    "partition_index": index,
                                    "error_code": errors.get(f"{topic.name}{index}", 0),
                                }
                                for index in topic.partition_indexes
                            ],
                        }
                        for topic in marker.topics
                    ],
                }
                for marker in asked.markers
            ]
        }
        call.then(decode_response(27, 2, encode_response(27, 2, body)))


def test_partitions_that_this_node_leads_get_their_markers_at_once() -> None:
    one = Sending({A0: ME, B0: ME})
    one.send(A0, B0)
    marker = Marker(7, 3, 5, True, 2)
    assert sorted(one.writer.written) == [(marker, A0), (marker, B0)]
    assert sorted(one.done) == [A0, B0]


def test_other_leaders_get_one_request_each_with_all_their_partitions() -> None:
    one = Sending({A0: OTHER, A1: OTHER, B0: 3})
    one.send(A0, A1, B0)
    by_node = {call.node: call.body for call in one.network.calls}
    assert by_node[OTHER] == {
        "markers": [
            {
                "producer_id": 7,
                "producer_epoch": 3,
                "transaction_result": True,
                "topics": [{"name": "a", "partition_indexes": [0, 1]}],
                "coordinator_epoch": 5,
                "transaction_version": 2,
            }
        ]
    }
    assert set(by_node) == {OTHER, 3}
    one.answer()
    one.answer()
    assert sorted(one.done) == [A0, A1, B0]


def test_transactions_that_end_meanwhile_share_the_next_request() -> None:
    one = Sending({A0: OTHER})
    for producer_id in (7, 8, 9):
        one.send(A0, producer_id=producer_id)
    assert len(one.network.calls) == 1
    one.answer()
    (call,) = one.network.calls
    assert [marker["producer_id"] for marker in call.body["markers"]] == [8, 9]
    one.answer()
    assert one.done == [A0, A0, A0]


def test_a_partition_that_is_gone_needs_no_marker() -> None:
    one = Sending({A0: ME})
    one.send(A0, B0)
    assert sorted(one.done) == [A0, B0]


def test_a_partition_that_may_come_yet_is_waited_for_and_keeps_nobody_waiting() -> None:
    one = Sending({A0: ME})
    one.may_come_ms[A1] = 1000
    one.send(A0, A1, B0)
    assert sorted(one.done) == [A0, B0]
    one.clock.advance(RETRY_BACKOFF_MS)
    one.leaders[A1] = ME
    one.clock.advance(RETRY_BACKOFF_MS)
    assert sorted(one.done) == [A0, A1, B0]
    assert [partition for _, partition in one.writer.written] == [A0, A1]


def test_a_partition_that_never_comes_is_not_waited_for_any_longer() -> None:
    one = Sending({})
    one.may_come_ms[A0] = 1000
    one.send(A0)
    one.clock.advance(999)
    assert one.done == []
    one.clock.advance(RETRY_BACKOFF_MS)
    assert (one.done, one.clock.pending) == ([A0], 0)


def test_an_error_that_a_newer_node_has_of_its_own_holds_up_nothing() -> None:
    one = Sending({A0: OTHER, A1: OTHER})
    one.send(A0)
    one.send(A1)
    one.answer(a0=999)
    one.answer()
    assert one.done == [A1]
    one.clock.advance(RETRY_BACKOFF_MS)
    one.answer()
    assert one.done == [A1, A0]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_what_does_not_work_now_is_tried_again_where_the_leader_is_then(error: ErrorCode) -> None:
    one = Sending({A0: OTHER, A1: OTHER})
    one.send(A0, A1)
    one.answer(a0=error)
    assert one.done == [A1]
    one.leaders[A0] = ME
    one.clock.advance(RETRY_BACKOFF_MS)
    assert one.done == [A1, A0]


def test_an_unreachable_node_is_tried_again() -> None:
    one = Sending({A0: OTHER})
    one.send(A0)
    one.network.calls.pop().then(Refused(ErrorCode.NETWORK_EXCEPTION))
    one.clock.advance(RETRY_BACKOFF_MS)
    one.answer()
    assert one.done == [A0]


def test_a_partition_without_a_leader_is_waited_for() -> None:
    one = Sending({A0: -1})
    one.send(A0)
    one.clock.advance(RETRY_BACKOFF_MS * 3)
    assert (one.done, one.writer.written) == ([], [])
    one.leaders[A0] = ME
    one.clock.advance(RETRY_BACKOFF_MS)
    assert one.done == [A0]


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
def test_a_zombie_stops(error: ErrorCode) -> None:
    one = Sending({A0: ME, B0: ME})
    one.writer.errors[A0] = [error]
    one.send(A0, B0)
    assert (one.done, one.clock.pending) == ([B0], 0)


def test_a_log_that_cannot_hold_markers_needs_none() -> None:
    one = Sending({A0: ME})
    one.writer.errors[A0] = [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT]
    one.send(A0)
    assert one.done == [A0]


def test_nothing_is_sent_for_a_coordinator_that_is_not_one_any_more() -> None:
    one = Sending({A0: OTHER, B0: ME})
    one.send(A0)
    one.send(A0)
    one.writer.errors[B0] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    one.send(B0)
    one.is_wanted = False
    one.answer(a0=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    one.clock.advance(RETRY_BACKOFF_MS)
    assert (one.network.calls, len(one.writer.written), one.clock.pending) == ([], 1, 0)
    one.is_wanted = True
    one.send(A0)  # the node is not stuck behind the call that was dropped
    assert len(one.network.calls) == 1


def test_an_answer_that_leaves_partitions_out_is_asked_again() -> None:
    one = Sending({A0: OTHER})
    one.send(A0)
    nothing: Any = SimpleNamespace(markers=())
    one.network.calls.pop().then(nothing)
    one.clock.advance(RETRY_BACKOFF_MS)
    one.answer()
    assert one.done == [A0]
