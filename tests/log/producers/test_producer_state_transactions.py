"""Transactions in a log: markers, the last stable offset, verification (KIP-890)."""

import pytest

from kafkapy.core.errors import Refused
from kafkapy.core.time import Instant
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import (
    BatchMetadata,
    CompletedTransaction,
)
from kafkapy.log.producers.snapshot_file import decode_snapshot, encode_snapshot
from kafkapy.protocol.batches.batch import NewRecord, build_batch, read_header
from kafkapy.protocol.batches.control_records import build_marker
from tests.log.producer_partition import NOW, PID, E, Partition


@pytest.fixture
def partition() -> Partition:
    return Partition()


# -- transactions


def test_a_plain_batch_inside_a_transaction_is_refused(partition: Partition) -> None:
    partition.data(0, transactional=True)
    partition.refuses(E.INVALID_TXN_STATE, 1)


def test_a_commit_completes_and_an_abort_says_so(partition: Partition) -> None:
    partition.data(0, 3, transactional=True)
    completed = partition.marker(commit=True)
    assert completed == CompletedTransaction(PID, 0, 3, False, 4)
    partition.data(3, 2, transactional=True)
    assert partition.marker(commit=False) == CompletedTransaction(PID, 4, 6, True, 7)


def test_the_stable_offset_of_an_abort_is_the_next_open_transaction_of_another(
    partition: Partition,
) -> None:
    partition.data(0, 2, transactional=True)  # 0, 1
    partition.data(0, 2, transactional=True, pid=PID + 1)  # 2, 3
    partition.data(0, 2, transactional=True, pid=PID + 2)  # 4, 5
    completed = partition.marker(commit=False)
    assert completed is not None
    assert completed.last_stable_offset == 2
    completed = partition.marker(commit=False, pid=PID + 1)
    assert completed is not None
    assert completed.last_stable_offset == 4


def test_a_retry_within_its_transaction_gets_its_offsets(partition: Partition) -> None:
    partition.data(0, 3, transactional=True)
    partition.data(3, 2, transactional=True)
    for sequence, count, offset in ((0, 3, 0), (3, 2, 3)):
        duplicate = partition.data(sequence, count, transactional=True)
        assert isinstance(duplicate, BatchMetadata)
        assert duplicate.first_offset == offset


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_a_batch_of_an_ended_transaction_is_not_called_written(
    partition: Partition, commit: bool, is_open: bool
) -> None:
    """Its producer may have used the sequences of records it gave up again: they would be lost.
    (docs/decisions/0010)"""
    partition.data(0, 3, transactional=True)
    partition.marker(commit=commit)
    if is_open:
        partition.data(3, 2, transactional=True)
    partition.refuses(E.UNKNOWN_PRODUCER_ID, 0, 3, transactional=True)


def test_a_batch_of_an_ended_transaction_is_refused_after_a_restart(partition: Partition) -> None:
    partition.data(0, 3, transactional=True)
    partition.marker(commit=False)
    entries = decode_snapshot(encode_snapshot(list(partition.states.active())))
    restarted = Partition()
    restarted.states.load(entries, partition.states.end_offset, NOW)
    restarted.refuses(E.UNKNOWN_PRODUCER_ID, 0, 3, transactional=True)


def test_a_marker_without_a_transaction_completes_nothing(partition: Partition) -> None:
    assert partition.marker(commit=True, epoch=2) is None
    entry = partition.states.get(PID)
    assert entry is not None
    assert entry.producer_epoch == 2


def test_a_marker_of_an_older_epoch_is_refused(partition: Partition) -> None:
    partition.data(0, epoch=5, transactional=True)
    for version in (0, 1, 2):
        with pytest.raises(Refused) as refused:
            partition.marker(commit=True, epoch=4, version=version)
        assert refused.value.code is E.INVALID_PRODUCER_EPOCH


def test_a_v2_marker_of_the_same_epoch_is_refused_while_a_transaction_is_open(
    partition: Partition,
) -> None:
    """It would end the next transaction, which uses the epoch that the marker raised."""
    partition.data(0, epoch=5, transactional=True)
    with pytest.raises(Refused) as refused:
        partition.marker(commit=True, epoch=5, version=2)
    assert refused.value.code is E.INVALID_PRODUCER_EPOCH
    assert partition.marker(commit=True, epoch=5, version=1) is not None
    assert partition.marker(commit=True, epoch=5, version=2) is None  # a retry: appended again


def test_the_last_epoch_cannot_be_raised_by_a_v2_marker(partition: Partition) -> None:
    partition.data(0, epoch=32767, transactional=True)
    assert partition.marker(commit=True, epoch=32767, version=2) is not None


def test_an_older_coordinator_is_fenced(partition: Partition) -> None:
    partition.data(0, transactional=True)
    partition.marker(commit=True, coordinator_epoch=7)
    with pytest.raises(Refused) as refused:
        partition.marker(commit=True, coordinator_epoch=6)
    assert refused.value.code is E.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_of_the_same_epoch_keeps_the_sequences(partition: Partition) -> None:
    partition.data(0, 5, transactional=True)
    partition.marker(commit=True)
    partition.data(5, transactional=True)


def test_an_emptied_marker_changes_nothing(partition: Partition) -> None:
    header = read_header(
        build_marker(
            is_commit=True, coordinator_epoch=1, producer_id=PID, producer_epoch=9, timestamp=NOW
        )
    )
    empty = build_batch([NewRecord()], producer_id=PID, producer_epoch=9, is_control=True)[:61]
    emptied = empty[:8] + (49).to_bytes(4) + empty[12:57] + bytes(4)
    assert partition.states.update(header._replace(record_count=0, length=49), emptied) is None
    assert partition.states.get(PID) is None


# -- the last stable offset


def test_an_open_transaction_holds_the_last_stable_offset(partition: Partition) -> None:
    states = partition.states
    partition.data(-1, 10, pid=-1, epoch=-1)
    partition.data(0, 2, transactional=True)  # 10, 11
    partition.data(-1, 3, pid=-1, epoch=-1)
    assert states.first_undecided_offset == 10
    assert states.last_stable_offset(15) == 10
    assert states.last_stable_offset(8) == 8
    assert states.last_stable_offset(15, log_start_offset=12) == 12


def test_it_goes_on_once_the_marker_is_replicated(partition: Partition) -> None:
    states = partition.states
    partition.data(0, 2, transactional=True)  # 0, 1
    partition.marker(commit=False)  # 2
    assert states.first_undecided_offset is None
    assert states.first_unstable_offset == 0
    states.high_watermark_advanced(2)
    assert states.last_stable_offset(2) == 0
    states.high_watermark_advanced(3)
    assert states.first_unstable_offset is None
    assert states.last_stable_offset(3) == 3


def test_transactions_that_end_out_of_order_are_freed_in_order(partition: Partition) -> None:
    states = partition.states
    partition.data(0, transactional=True)  # 0
    partition.data(0, transactional=True, pid=PID + 1)  # 1
    partition.marker(commit=True, pid=PID + 1)  # 2
    partition.marker(commit=True)  # 3
    assert states.last_stable_offset(3) == 0
    assert states.last_stable_offset(4) == 4


def test_a_transaction_that_outlives_its_timeout_is_late(partition: Partition) -> None:
    states = partition.states
    assert not states.has_late_transaction(NOW, 900_000)
    partition.data(0, transactional=True)
    assert not states.has_late_transaction(Instant(NOW + 1_200_000), 900_000)
    assert states.has_late_transaction(Instant(NOW + 1_200_001), 900_000)


# -- verification (KIP-890)


def test_a_transaction_needs_the_coordinators_word() -> None:
    partition = Partition(verifies=True)
    states = partition.states
    partition.refuses(E.INVALID_TXN_STATE, 0, transactional=True)
    guard = states.begin_verification(PID, 0, 0, supports_epoch_bump=True, now=NOW)
    assert guard is not None
    partition.refuses(E.INVALID_TXN_STATE, 0, transactional=True, guard=VerificationGuard())
    partition.data(0, transactional=True, guard=guard)
    assert len(states.verifications) == 0
    assert states.has_open_transaction(PID, 0)
    assert states.begin_verification(PID, 0, 1, supports_epoch_bump=True, now=NOW) is None
    partition.data(1, transactional=True)
    partition.marker(commit=True)
    partition.refuses(E.INVALID_TXN_STATE, 2, transactional=True, guard=guard)


def test_retries_share_a_guard_and_the_lowest_sequence_goes_first() -> None:
    partition = Partition(verifies=True)
    states = partition.states
    partition.data(0, 5)
    guard = states.begin_verification(PID, 0, 7, supports_epoch_bump=False, now=NOW)
    assert states.begin_verification(PID, 0, 5, supports_epoch_bump=False, now=NOW) is guard
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, transactional=True, guard=guard)
    partition.data(5, 2, transactional=True, guard=guard)


def test_a_v2_transaction_of_an_unknown_producer_begins_at_zero() -> None:
    partition = Partition(verifies=True)
    states = partition.states
    guard = states.begin_verification(PID, 0, 3, supports_epoch_bump=True, now=NOW)
    partition.refuses(E.OUT_OF_ORDER_SEQUENCE_NUMBER, 3, transactional=True, guard=guard)
    old = PID + 1
    guard = states.begin_verification(old, 0, 3, supports_epoch_bump=False, now=NOW)
    partition.data(3, pid=old, transactional=True, guard=guard)


def test_a_fenced_producer_is_not_even_verified(partition: Partition) -> None:
    partition.data(0, epoch=4)
    with pytest.raises(Refused) as refused:
        partition.states.begin_verification(PID, 3, 0, supports_epoch_bump=True, now=NOW)
    assert refused.value.code is E.INVALID_PRODUCER_EPOCH


def test_a_transaction_of_an_older_epoch_does_not_count_as_open(partition: Partition) -> None:
    partition.data(0, epoch=4, transactional=True)
    assert not partition.states.has_open_transaction(PID, 5)
