"""EndTxn under both protocols: the tables of formats/transactions 2, cell by cell; and timeouts."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.step import Step
from kafkapy.txn.end import decide, decide_timed_out
from kafkapy.txn.events import AbortTimedOut, EndDecided, EndTransaction, ProducerIdWanted
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import LAST_USABLE_EPOCH, MAX_EPOCH, NO_TIMEOUT_MS, completed
from tests.txn.samples import ID, NOW, PID, S, end, transaction, written

COMMIT, ABORT = True, False
DONE = "done"
FENCED = ErrorCode.PRODUCER_FENCED
INVALID = ErrorCode.INVALID_TXN_STATE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING

Outcome = TransactionState | ErrorCode | str


def outcome(event: EndTransaction, state: TransactionState) -> Outcome:
    """The state it prepares, `done` for success without a record, else the error."""
    version = event.client_version
    step = decide(event, transaction(state, client_version=version), NOW)
    assert isinstance(step.reply, EndDecided)
    if step.records:
        assert step.reply.error is ErrorCode.NONE
        return written(step).state
    return DONE if step.reply.error is ErrorCode.NONE else step.reply.error


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (S.EMPTY, INVALID, INVALID),
        (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT),
        (S.PREPARE_COMMIT, CONCURRENT, CONCURRENT),
        (S.PREPARE_ABORT, CONCURRENT, CONCURRENT),
        (S.COMPLETE_COMMIT, DONE, INVALID),
        (S.COMPLETE_ABORT, INVALID, DONE),
    ],
)
def test_the_table_of_v1(state: TransactionState, commit: Outcome, abort: Outcome) -> None:
    assert outcome(end(COMMIT, version=0), state) == commit
    assert outcome(end(ABORT, version=0), state) == abort


@pytest.mark.parametrize("state", list(TransactionState)[:6])
def test_v1_knows_its_producer_before_anything_else(state: TransactionState) -> None:
    assert outcome(end(COMMIT, 0, producer_id=1), state) is MAPPING
    assert outcome(end(COMMIT, 0, epoch=4), state) is FENCED
    assert outcome(end(COMMIT, 0, epoch=6), state) is FENCED


@pytest.mark.parametrize(
    ("state", "commit_retry", "commit_equal", "abort_retry", "abort_equal"),
    [
        (S.EMPTY, FENCED, INVALID, FENCED, S.PREPARE_ABORT),
        (S.ONGOING, FENCED, S.PREPARE_COMMIT, FENCED, S.PREPARE_ABORT),
        (S.PREPARE_COMMIT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
        (S.PREPARE_ABORT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
        (S.COMPLETE_COMMIT, DONE, INVALID, INVALID, S.PREPARE_ABORT),
        (S.COMPLETE_ABORT, INVALID, INVALID, DONE, S.PREPARE_ABORT),
    ],
)
def test_the_table_of_v2(
    state: TransactionState,
    commit_retry: Outcome,
    commit_equal: Outcome,
    abort_retry: Outcome,
    abort_equal: Outcome,
) -> None:
    assert outcome(end(COMMIT, 2, epoch=4), state) == commit_retry
    assert outcome(end(COMMIT, 2, epoch=5), state) == commit_equal
    assert outcome(end(ABORT, 2, epoch=4), state) == abort_retry
    assert outcome(end(ABORT, 2, epoch=5), state) == abort_equal


@pytest.mark.parametrize("state", [S.EMPTY, S.ONGOING, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_v2_fences_other_epochs_and_does_not_know_other_producers(
    state: TransactionState,
) -> None:
    for epoch in (3, 6):
        assert outcome(end(ABORT, 2, epoch=epoch), state) is FENCED
    assert outcome(end(ABORT, 2, producer_id=1), state) is MAPPING


@pytest.mark.parametrize("state", [S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
@pytest.mark.parametrize("committed", [COMMIT, ABORT])
def test_an_epoch_below_one_of_v1_is_no_retry_but_a_zombie(
    state: TransactionState, committed: bool
) -> None:
    """A producer of v1 took the id over and ended a transaction: nobody's epoch was bumped
    behind his back, so whoever comes with the epoch before was fenced."""
    taken_over = transaction(state, client_version=0)
    assert decide(end(committed, 2, epoch=4), taken_over, NOW).reply == EndDecided(FENCED)


def test_v2_answers_with_the_epoch_of_the_next_transaction() -> None:
    step = decide(end(COMMIT, 2), transaction(S.ONGOING), NOW)
    assert step.reply == EndDecided(ErrorCode.NONE, PID, 6)
    prepared = written(step)
    assert (prepared.producer_epoch, prepared.client_version) == (6, 2)
    again = decide(end(COMMIT, 2), completed(prepared, NOW), NOW)
    assert again == Step(reply=EndDecided(ErrorCode.NONE, PID, 6))


def test_v1_answers_nothing_but_that_it_is_decided() -> None:
    step = decide(end(COMMIT, 0), transaction(S.ONGOING), NOW)
    assert step.reply == EndDecided(ErrorCode.NONE, -1, -1)
    assert written(step).producer_epoch == 5


def test_v2_hands_out_a_new_producer_id_when_epochs_run_out() -> None:
    """Ask, be told to fetch an id, ask again; the retry after completion gets the same."""
    ongoing = transaction(S.ONGOING, LAST_USABLE_EPOCH)
    event = end(COMMIT, 2, epoch=LAST_USABLE_EPOCH)
    assert decide(event, ongoing, NOW) == Step(reply=ProducerIdWanted())
    with_id = EndTransaction(ID, PID, LAST_USABLE_EPOCH, COMMIT, 2, fresh_producer_id=7000)
    step = decide(with_id, ongoing, NOW)
    assert step.reply == EndDecided(ErrorCode.NONE, 7000, 0)
    prepared = written(step)
    assert (prepared.producer_id, prepared.producer_epoch) == (PID, MAX_EPOCH)
    done = completed(prepared, NOW)
    assert decide(event, done, NOW) == Step(reply=EndDecided(ErrorCode.NONE, 7000, 0))
    other = end(ABORT, 2, epoch=LAST_USABLE_EPOCH)
    assert decide(other, done, NOW) == Step(reply=EndDecided(INVALID))


def test_an_id_that_is_given_but_not_needed_is_not_used() -> None:
    with_id = EndTransaction(ID, PID, 5, COMMIT, 2, fresh_producer_id=7000)
    step = decide(with_id, transaction(S.ONGOING), NOW)
    assert step.reply == EndDecided(ErrorCode.NONE, PID, 6)
    assert written(step).next_producer_id == -1


@pytest.mark.parametrize("version", [0, 2])
def test_an_unknown_id_has_no_producer_and_the_empty_one_is_none(version: int) -> None:
    assert decide(end(COMMIT, version), None, NOW) == Step(reply=EndDecided(MAPPING))
    empty = EndTransaction("", PID, 5, COMMIT, version)
    assert decide(empty, None, NOW) == Step(reply=EndDecided(ErrorCode.INVALID_REQUEST))


@pytest.mark.parametrize(("server_version", "client_version"), [(1, 0), (2, 2)])
def test_a_transaction_that_took_too_long_is_fenced_and_aborted(
    server_version: int, client_version: int
) -> None:
    late = transaction(S.ONGOING, started_ms=NOW - 60_001)
    prepared = written(decide_timed_out(AbortTimedOut(ID), late, NOW, server_version))
    assert (prepared.state, prepared.producer_epoch) == (S.PREPARE_ABORT, 6)
    assert (prepared.client_version, prepared.started_ms) == (client_version, NOW - 60_001)


@pytest.mark.parametrize(
    ("state", "started_ms", "timeout_ms"),
    [
        (S.ONGOING, NOW - 60_000, 60_000),
        (S.ONGOING, 0, NO_TIMEOUT_MS),
        (S.EMPTY, -1, 60_000),
        (S.PREPARE_COMMIT, 0, 60_000),
        (S.COMPLETE_COMMIT, 0, 60_000),
    ],
)
def test_what_is_not_late_or_not_open_any_more_is_left_alone(
    state: TransactionState, started_ms: int, timeout_ms: int
) -> None:
    known = transaction(state, started_ms=started_ms, timeout_ms=timeout_ms)
    assert not decide_timed_out(AbortTimedOut(ID), known, NOW, 2).records
    assert not decide_timed_out(AbortTimedOut(ID), None, NOW, 2).records


def test_a_late_transaction_without_epochs_left_wants_a_producer_id() -> None:
    late = transaction(S.ONGOING, LAST_USABLE_EPOCH, started_ms=0)
    assert decide_timed_out(AbortTimedOut(ID), late, NOW, 2) == Step(reply=ProducerIdWanted())
    prepared = written(decide_timed_out(AbortTimedOut(ID, 7000), late, NOW, 2))
    assert prepared.next_producer_id == 7000
