"""What a round may drop because of how transactions ended."""

from kafkapy.log.cleaning.transactions import CleanedTransactions
from kafkapy.log.segments.transaction_index import AbortedTransaction
from kafkapy.protocol.batches.batch import NewRecord, build_batch, read_header
from kafkapy.protocol.batches.control_records import ControlRecordType, build_marker, control_key


class Walk:
    """Passes batches by, as the cleaner reads them."""

    def __init__(self, *aborted: AbortedTransaction) -> None:
        self.kept: list[AbortedTransaction] = []
        self.transactions = CleanedTransactions(self.kept.append)
        self.transactions.add(aborted)

    def data(self, offset: int, pid: int = 1, *, transactional: bool = True) -> bool:
        batch = build_batch(
            [NewRecord(b"k", b"v")],
            base_offset=offset,
            producer_id=pid,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=transactional,
        )
        return self.transactions.may_drop(read_header(batch), batch)

    def marker(self, offset: int, pid: int = 1, *, commit: bool) -> bool:
        batch = build_marker(
            is_commit=commit,
            coordinator_epoch=0,
            producer_id=pid,
            producer_epoch=0,
            timestamp=0,
            base_offset=offset,
        )
        return self.transactions.may_drop(read_header(batch), batch)


ABORTED = AbortedTransaction(1, 10, 12, 13)


def test_aborted_data_may_go_and_its_marker_stays_in_the_index() -> None:
    walk = Walk(ABORTED)
    assert not walk.data(9)
    assert walk.data(10)
    assert walk.data(11)
    assert not walk.marker(12, commit=False)
    assert walk.kept == [ABORTED]
    assert not walk.data(13)


def test_an_abort_marker_whose_data_is_gone_may_go() -> None:
    walk = Walk(ABORTED)
    assert walk.marker(12, commit=False)
    assert walk.kept == []


def test_an_abort_marker_of_no_transaction_may_go() -> None:
    assert Walk().marker(5, commit=False)


def test_a_commit_marker_stays_as_long_as_its_data_is_seen() -> None:
    walk = Walk()
    assert not walk.data(3)
    assert not walk.marker(4, commit=True)
    assert walk.marker(5, commit=True)  # another transaction, without data


def test_other_producers_and_plain_batches_are_not_touched() -> None:
    walk = Walk(ABORTED)
    assert not walk.data(10, pid=2)
    assert not walk.data(11, pid=1, transactional=False)


def test_a_transaction_across_segments_counts_once() -> None:
    walk = Walk(ABORTED)
    assert walk.data(10)
    walk.transactions.add([ABORTED])
    assert walk.data(11)
    assert not walk.marker(12, commit=False)
    assert walk.kept == [ABORTED]


def test_two_transactions_of_one_producer_are_told_apart() -> None:
    second = AbortedTransaction(1, 20, 22, 23)
    walk = Walk(ABORTED, second)
    assert walk.data(10)
    assert not walk.marker(12, commit=False)
    assert not walk.data(15)
    assert not walk.marker(16, commit=True)
    assert walk.data(20)
    assert not walk.marker(22, commit=False)
    assert walk.kept == [ABORTED, second]


def test_markers_emptied_before_may_go_and_unknown_ones_stay() -> None:
    walk = Walk()
    batch = build_batch(
        [NewRecord(control_key(ControlRecordType.LEADER_CHANGE), b"x")], is_control=True
    )
    assert not walk.transactions.may_drop(read_header(batch), batch)
    emptied = batch[:8] + (49).to_bytes(4) + batch[12:57] + bytes(4)
    assert walk.transactions.may_drop(read_header(emptied), emptied)
