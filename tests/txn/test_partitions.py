"""Adding partitions to a transaction, and verifying that they are in it."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.step import Step
from kafkapy.txn.events import AddPartitions, PartitionsAdded, PartitionsVerified, VerifyPartitions
from kafkapy.txn.partitions import decide_add, decide_verify
from kafkapy.txn.states import TransactionState
from tests.txn.samples import A0, B1, ID, NOW, PID, S, add, transaction, written

AT_REST = [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT]
PREPARED = [S.PREPARE_COMMIT, S.PREPARE_ABORT]


@pytest.mark.parametrize("state", AT_REST)
def test_the_first_partition_opens_a_transaction(state: TransactionState) -> None:
    step = decide_add(add(A0), transaction(state), NOW)
    assert step.reply == PartitionsAdded(ErrorCode.NONE)
    opened = written(step)
    assert (opened.state, opened.partitions, opened.started_ms) == (S.ONGOING, frozenset({A0}), NOW)


def test_more_partitions_join_the_open_transaction() -> None:
    opened = written(decide_add(add(A0, B1), transaction(S.ONGOING), NOW))
    assert (opened.partitions, opened.started_ms) == (frozenset({A0, B1}), 900_000)


def test_what_is_in_already_is_not_written_again() -> None:
    step = decide_add(add(A0), transaction(S.ONGOING), NOW)
    assert step == Step(reply=PartitionsAdded(ErrorCode.NONE))


@pytest.mark.parametrize("state", PREPARED)
@pytest.mark.parametrize("event", [add(B1), add(B1, epoch=6), add(B1, producer_id=1)])
def test_until_the_markers_are_written_everyone_waits(
    state: TransactionState, event: AddPartitions
) -> None:
    """In v2 the next transaction comes with the new epoch before the old one is complete."""
    step = decide_add(event, transaction(state), NOW)
    assert step == Step(reply=PartitionsAdded(ErrorCode.CONCURRENT_TRANSACTIONS))


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT])
def test_strangers_and_the_fenced_add_nothing(state: TransactionState) -> None:
    known = transaction(state)
    for event, error in [
        (add(A0, producer_id=1), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (add(A0, epoch=4), ErrorCode.PRODUCER_FENCED),
        (add(A0, epoch=6), ErrorCode.PRODUCER_FENCED),
    ]:
        assert decide_add(event, known, NOW) == Step(reply=PartitionsAdded(error))


def test_an_unknown_id_has_no_producer_and_the_empty_one_is_none() -> None:
    unknown = PartitionsAdded(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    assert decide_add(add(A0), None, NOW) == Step(reply=unknown)
    empty = AddPartitions("", PID, 5, frozenset({A0}))
    invalid = PartitionsAdded(ErrorCode.INVALID_REQUEST)
    assert decide_add(empty, transaction(), NOW) == Step(reply=invalid)


def verify(epoch: int = 5, producer_id: int = PID, of: str = ID) -> VerifyPartitions:
    return VerifyPartitions(of, producer_id, epoch, frozenset({A0, B1}))


def test_verification_says_for_each_partition_whether_it_is_in() -> None:
    step = decide_verify(verify(), transaction(S.ONGOING))
    errors = {A0: ErrorCode.NONE, B1: ErrorCode.TRANSACTION_ABORTABLE}
    assert step == Step(reply=PartitionsVerified(errors))


@pytest.mark.parametrize(
    ("event", "state", "error"),
    [
        (verify(of=""), S.ONGOING, ErrorCode.INVALID_REQUEST),
        (verify(), None, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (verify(producer_id=1), S.ONGOING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (verify(epoch=4), S.ONGOING, ErrorCode.PRODUCER_FENCED),
        (verify(producer_id=1), S.PREPARE_ABORT, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (verify(epoch=4), S.PREPARE_ABORT, ErrorCode.PRODUCER_FENCED),
        (verify(), S.PREPARE_ABORT, ErrorCode.CONCURRENT_TRANSACTIONS),
        (verify(), S.PREPARE_COMMIT, ErrorCode.CONCURRENT_TRANSACTIONS),
        (verify(), S.EMPTY, ErrorCode.TRANSACTION_ABORTABLE),
        (verify(), S.COMPLETE_COMMIT, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_verification_refuses_all_partitions_alike(
    event: VerifyPartitions, state: TransactionState | None, error: ErrorCode
) -> None:
    known = None if state is None else transaction(state)
    assert decide_verify(event, known) == Step(reply=PartitionsVerified({A0: error, B1: error}))
