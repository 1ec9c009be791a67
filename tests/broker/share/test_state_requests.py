"""What share coordinators answer, sorted out by whoever asked."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.share.state_requests import replies_in
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.share.coordinator.events import Done, ReadState, StateRead, WriteState
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.states import RecordState, StateBatch

TOPIC = UUID(int=7)
E = ErrorCode


def write(partition: int) -> WriteState:
    return WriteState(ShareKey("g", TOPIC, partition), 1, 1, 0, ())


def response(*rows: tuple[int, ErrorCode]) -> Any:
    partitions = [
        SimpleNamespace(partition=partition, error_code=code, error_message=None)
        for partition, code in rows
    ]
    return SimpleNamespace(results=[SimpleNamespace(topic_id=TOPIC, partitions=partitions)])


def codes(*rows: tuple[int, ErrorCode], of: tuple[int, ...]) -> list[ErrorCode]:
    replies = replies_in(response(*rows), [write(one) for one in of])
    assert all(isinstance(one, Done | Refused) for one in replies)
    return [one.code if isinstance(one, Refused) else E.NONE for one in replies]


def test_two_writes_of_one_partition_have_an_answer_each() -> None:
    rows = ((0, E.FENCED_STATE_EPOCH), (1, E.NONE), (0, E.NONE))
    assert codes(*rows, of=(0, 0, 1)) == [E.FENCED_STATE_EPOCH, E.NONE, E.NONE]


@pytest.mark.parametrize("code", [E.NONE, E.FENCED_LEADER_EPOCH])
def test_one_answer_to_two_writes_is_that_of_both(code: ErrorCode) -> None:
    assert codes((0, code), of=(0, 0)) == [code, code]


def test_what_is_not_answered_is_refused() -> None:
    assert codes((0, E.NONE), of=(0, 1)) == [E.NONE, E.UNKNOWN_SERVER_ERROR]


def test_of_a_state_that_another_coordinator_knows_records_come_again() -> None:
    batch = SimpleNamespace(first_offset=3, last_offset=5, delivery_state=9, delivery_count=2)
    answer = response((0, E.NONE))
    row = answer.results[0].partitions[0]
    row.state_epoch, row.start_offset, row.state_batches = 1, 0, [batch]
    (reply,) = replies_in(answer, [ReadState(ShareKey("g", TOPIC, 0), 1)])
    assert reply == StateRead(1, 0, (StateBatch(3, 5, RecordState.AVAILABLE, 2),))
