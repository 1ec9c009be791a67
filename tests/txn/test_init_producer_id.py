"""InitProducerId: who gets which epoch, who is fenced, what is aborted first."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.step import Step
from kafkapy.txn.events import Fact, InitProducerId, ProducerIdWanted, ProducerInitialised, Reply
from kafkapy.txn.init_producer_id import decide
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import LAST_USABLE_EPOCH, MAX_EPOCH, Transaction
from tests.txn.samples import ID, NOW, PID, S, init, transaction, written

NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
AT_REST = [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT]


def ask(
    event: InitProducerId, known: Transaction | None, server_version: int = 2
) -> Step[Fact, Reply]:
    return decide(event, known, NOW, max_timeout_ms=900_000, server_version=server_version)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_must_be_one_that_the_broker_allows(timeout_ms: int) -> None:
    step = ask(init(timeout_ms=timeout_ms), None)
    assert step == Step(reply=ProducerInitialised(ErrorCode.INVALID_TRANSACTION_TIMEOUT))


def test_the_empty_id_is_no_id() -> None:
    step = ask(InitProducerId("", 60_000), None)
    assert step == Step(reply=ProducerInitialised(ErrorCode.INVALID_REQUEST))


def test_a_new_id_wants_a_producer_id_and_starts_at_epoch_0() -> None:
    assert ask(init(), None) == Step(reply=ProducerIdWanted())
    step = ask(init(fresh=7000), None)
    assert step.reply == ProducerInitialised(NONE, 7000, 0)
    logged = written(step)
    assert (logged.transactional_id, logged.state, logged.started_ms) == (ID, S.EMPTY, -1)
    assert (logged.previous_producer_id, logged.last_producer_epoch) == (7000, -1)


def test_a_producer_whose_id_was_forgotten_starts_afresh() -> None:
    step = ask(init(PID, 17, fresh=7000), None)
    assert step.reply == ProducerInitialised(NONE, 7000, 0)


@pytest.mark.parametrize("state", AT_REST)
def test_a_new_producer_takes_the_next_epoch(state: TransactionState) -> None:
    step = ask(init(), transaction(state))
    assert step.reply == ProducerInitialised(NONE, PID, 6)
    assert (written(step).producer_epoch, written(step).last_producer_epoch) == (6, -1)


@pytest.mark.parametrize("state", AT_REST)
def test_a_producer_may_continue_and_retry(state: TransactionState) -> None:
    step = ask(init(PID, 5), transaction(state))
    assert step.reply == ProducerInitialised(NONE, PID, 6)
    again = ask(init(PID, 5), written(step))
    assert again.reply == ProducerInitialised(NONE, PID, 6)
    assert written(again).producer_epoch == 6


@pytest.mark.parametrize("epoch", [3, 4, 6])
def test_a_producer_of_another_epoch_is_fenced(epoch: int) -> None:
    assert ask(init(PID, epoch), transaction()) == Step(reply=ProducerInitialised(FENCED))


def test_a_producer_is_fenced_once_a_new_one_came() -> None:
    taken_over = written(ask(init(), transaction()))
    assert ask(init(PID, 5), taken_over) == Step(reply=ProducerInitialised(FENCED))


def test_another_producer_id_is_fenced() -> None:
    assert ask(init(PID + 1, 5), transaction()) == Step(reply=ProducerInitialised(FENCED))


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
@pytest.mark.parametrize("event", [init(), init(PID, 5), init(PID + 1, 9)])
def test_nobody_gets_in_before_the_markers_are_written(
    state: TransactionState, event: InitProducerId
) -> None:
    assert ask(event, transaction(state)) == Step(reply=ProducerInitialised(CONCURRENT))


@pytest.mark.parametrize(("server_version", "client_version"), [(0, 0), (1, 0), (2, 2)])
@pytest.mark.parametrize("event", [init(), init(PID, 5)])
def test_an_open_transaction_is_fenced_and_aborted_first(
    event: InitProducerId, server_version: int, client_version: int
) -> None:
    step = ask(event, transaction(S.ONGOING), server_version)
    assert step.reply == ProducerInitialised(CONCURRENT)
    prepared = written(step)
    assert (prepared.state, prepared.producer_epoch) == (S.PREPARE_ABORT, 6)
    assert prepared.client_version == client_version


def test_a_stranger_does_not_abort_an_open_transaction() -> None:
    event = init(PID + 1, 5)
    assert ask(event, transaction(S.ONGOING)) == Step(reply=ProducerInitialised(FENCED))


@pytest.mark.parametrize("expected", [None, PID])
def test_an_exhausted_epoch_is_replaced_by_a_new_producer_id(expected: int | None) -> None:
    known = transaction(S.COMPLETE_COMMIT, LAST_USABLE_EPOCH)
    assert ask(init(expected, LAST_USABLE_EPOCH), known) == Step(reply=ProducerIdWanted())
    step = ask(init(expected, LAST_USABLE_EPOCH, fresh=7000), known)
    assert step.reply == ProducerInitialised(NONE, 7000, 0)
    logged = written(step)
    assert logged.previous_producer_id == PID
    assert logged.last_producer_epoch == (-1 if expected is None else LAST_USABLE_EPOCH)


def test_the_retry_of_a_producer_that_got_a_new_id_gets_it_again() -> None:
    known = transaction(S.COMPLETE_COMMIT, LAST_USABLE_EPOCH)
    rotated = written(ask(init(PID, LAST_USABLE_EPOCH, fresh=7000), known))
    again = ask(init(PID, LAST_USABLE_EPOCH), rotated)
    assert again.reply == ProducerInitialised(NONE, 7000, 0)


def test_a_producer_behind_an_exhausted_epoch_is_fenced() -> None:
    known = transaction(S.COMPLETE_COMMIT, LAST_USABLE_EPOCH)
    assert ask(init(PID, 3), known) == Step(reply=ProducerInitialised(FENCED))


def test_fencing_in_v2_takes_a_producer_id_when_epochs_run_out() -> None:
    known = transaction(S.ONGOING, LAST_USABLE_EPOCH)
    assert ask(init(), known) == Step(reply=ProducerIdWanted())
    prepared = written(ask(init(fresh=7000), known))
    assert (prepared.producer_epoch, prepared.next_producer_id) == (MAX_EPOCH, 7000)
    fenced_v1 = written(ask(init(), known, server_version=1))
    assert (fenced_v1.producer_epoch, fenced_v1.next_producer_id) == (MAX_EPOCH, -1)
