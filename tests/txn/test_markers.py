"""Markers: what is owed, and when a transaction is complete."""

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Step
from kafkapy.txn.events import Fact, MarkersNoted, MarkersWritten, PartitionsMarked, Reply
from kafkapy.txn.markers import MarkersDue, decide_written, due
from kafkapy.txn.states import TransactionState
from tests.txn.samples import A0, B1, ID, NOW, PID, S, transaction, written

BOTH = frozenset({A0, B1})


STARTED = 900_000


def told(
    *partitions: TopicPartition,
    epoch: int = 5,
    producer_id: int = PID,
    started_ms: int = STARTED,
) -> MarkersWritten:
    return MarkersWritten(ID, producer_id, epoch, started_ms, frozenset(partitions))


@pytest.mark.parametrize(
    ("state", "committed"), [(S.PREPARE_COMMIT, True), (S.PREPARE_ABORT, False)]
)
def test_a_prepared_transaction_owes_its_partitions_a_marker(
    state: TransactionState, committed: bool
) -> None:
    prepared = transaction(state, partitions=BOTH, client_version=2)
    assert due(prepared) == MarkersDue(ID, PID, 5, STARTED, committed, BOTH, 2)


def test_nothing_else_owes_anything() -> None:
    with pytest.raises(AssertionError):
        due(transaction(S.ONGOING))


def test_it_is_complete_when_the_last_partition_has_its_marker() -> None:
    prepared = transaction(S.PREPARE_COMMIT, partitions=BOTH)
    some = decide_written(told(A0), prepared, NOW)
    assert some == Step(
        notes=(PartitionsMarked(ID, frozenset({A0})),), reply=MarkersNoted(is_complete=False)
    )
    rest = transaction(S.PREPARE_COMMIT, partitions=frozenset({B1}))
    step = decide_written(told(B1), rest, NOW)
    assert step.reply == MarkersNoted(is_complete=True)
    assert written(step).state is S.COMPLETE_COMMIT


def test_an_abort_of_nothing_is_complete_at_once() -> None:
    prepared = transaction(S.PREPARE_ABORT, partitions=frozenset())
    assert written(decide_written(told(), prepared, NOW)).state is S.COMPLETE_ABORT


@pytest.mark.parametrize(
    "event",
    [
        told(A0, epoch=4),
        told(A0, epoch=6),
        told(A0, producer_id=PID + 1),
        # In v1 the transaction before had the same epoch.
        told(A0, started_ms=STARTED - 1),
    ],
)
def test_news_of_another_transaction_changes_nothing(event: MarkersWritten) -> None:
    prepared = transaction(S.PREPARE_COMMIT)
    assert decide_written(event, prepared, NOW) == Step(reply=MarkersNoted(is_complete=True))


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_news_that_come_late_or_twice_change_nothing(state: TransactionState) -> None:
    noted: Step[Fact, Reply] = Step(reply=MarkersNoted(is_complete=True))
    assert decide_written(told(A0), transaction(state), NOW) == noted
    assert decide_written(told(A0), None, NOW) == noted
