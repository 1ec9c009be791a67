"""The steps of one transactional id: what each keeps, changes and writes."""

import pytest

from kafkapy.txn.transaction import (
    LAST_USABLE_EPOCH,
    MAX_EPOCH,
    NO_TIMEOUT_MS,
    completed,
    initialised,
    prepared_v1,
    prepared_v2,
    with_partitions,
)
from tests.txn.samples import A0, B1, NOW, PID, S, transaction


def test_a_new_producer_finds_nothing_open() -> None:
    before = transaction(S.COMPLETE_COMMIT)
    after = initialised(before, PID, 6, 5, 30_000, NOW)
    assert (after.state, after.started_ms, after.updated_ms) == (S.EMPTY, -1, NOW)
    assert (after.producer_epoch, after.last_producer_epoch, after.timeout_ms) == (6, 5, 30_000)


def test_the_first_partition_starts_the_transaction_and_later_ones_join_it() -> None:
    first = with_partitions(transaction(S.EMPTY), frozenset({A0}), 2, NOW)
    second = with_partitions(first, frozenset({B1}), 2, NOW + 50)
    assert second.partitions == {A0, B1}
    assert (second.started_ms, second.updated_ms, second.client_version) == (NOW, NOW + 50, 2)


def test_v1_keeps_the_epoch_when_a_transaction_ends() -> None:
    prepared = prepared_v1(transaction(S.ONGOING), S.PREPARE_COMMIT, NOW)
    assert (prepared.producer_epoch, prepared.client_version) == (5, 0)
    done = completed(prepared, NOW + 1)
    assert (done.state, done.producer_epoch, done.partitions) == (S.COMPLETE_COMMIT, 5, frozenset())
    assert done.started_ms == 900_000


@pytest.mark.parametrize(("epoch", "fenced"), [(5, 6), (LAST_USABLE_EPOCH, MAX_EPOCH)])
def test_v1_fences_with_an_epoch_that_nobody_has(epoch: int, fenced: int) -> None:
    prepared = prepared_v1(
        transaction(S.ONGOING, epoch, last_producer_epoch=epoch - 1),
        S.PREPARE_ABORT,
        NOW,
        is_fence=True,
    )
    assert (prepared.producer_epoch, prepared.last_producer_epoch) == (fenced, -1)


def test_v2_bumps_the_epoch_before_the_markers_are_written() -> None:
    prepared = prepared_v2(transaction(S.ONGOING), S.PREPARE_COMMIT, -1, 2, NOW)
    assert (prepared.producer_epoch, prepared.last_producer_epoch) == (6, 5)
    assert completed(prepared, NOW).producer_epoch == 6


def test_v2_moves_to_a_new_producer_id_when_epochs_run_out() -> None:
    ongoing = transaction(S.ONGOING, LAST_USABLE_EPOCH)
    prepared = prepared_v2(ongoing, S.PREPARE_COMMIT, 9000, 2, NOW)
    assert (prepared.producer_id, prepared.producer_epoch) == (PID, MAX_EPOCH)
    assert prepared.next_producer_id == 9000
    done = completed(prepared, NOW)
    assert (done.producer_id, done.producer_epoch) == (9000, 0)
    assert (done.previous_producer_id, done.next_producer_id) == (PID, -1)
    # What the client saw last, so that its retry is known for one.
    assert done.last_producer_epoch == LAST_USABLE_EPOCH


def test_v2_may_abort_nothing_and_that_starts_and_ends_now() -> None:
    prepared = prepared_v2(transaction(S.EMPTY), S.PREPARE_ABORT, -1, 2, NOW)
    assert (prepared.started_ms, prepared.partitions) == (NOW, frozenset())


def test_a_producer_id_is_only_taken_when_epochs_have_run_out() -> None:
    with pytest.raises(AssertionError):
        prepared_v2(transaction(S.ONGOING), S.PREPARE_COMMIT, 9000, 2, NOW)
    with pytest.raises(AssertionError):
        prepared_v2(transaction(S.ONGOING, LAST_USABLE_EPOCH), S.PREPARE_COMMIT, -1, 2, NOW)


def test_two_phase_commit_is_known_by_its_endless_timeout() -> None:
    assert transaction(timeout_ms=NO_TIMEOUT_MS).is_two_phase
    assert not transaction().is_two_phase
