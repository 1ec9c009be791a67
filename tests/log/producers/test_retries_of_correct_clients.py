"""What a client that keeps to the protocol sends again is answered, whatever happened meanwhile.

A batch of an ended transaction is refused (docs/decisions/0010). A correct client waits for the
answers to its batches before it ends a transaction, so whatever it sends again belongs to the one
that is open. Nothing that happens to the log meanwhile may make that look otherwise.
"""

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.log.append import AppendInfo, Origin
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.control_records import build_marker
from tests.log.support import Home, batch, read_bytes

PID = 4000
BATCH = 200
SMALL = LogConfig(segment_bytes=3 * len(batch(1, size=BATCH)), retention_ms=-1)


class Producer:
    """Of one partition, by transactions version 1 (one epoch for many of them) unless it is told
    to take a new one."""

    def __init__(self, epoch: int = 0) -> None:
        self.epoch = epoch
        self.sequence = 0

    def send(self, log: PartitionLog, count: int = 1) -> AppendInfo:
        info = self.send_again(log, self.sequence, count)
        self.sequence += count
        return info

    def send_again(self, log: PartitionLog, sequence: int, count: int = 1) -> AppendInfo:
        now = Instant(1000)
        guard = log.producers.begin_verification(
            PID, self.epoch, sequence, supports_epoch_bump=False, now=now
        )
        records = batch(
            count,
            size=BATCH,
            producer_id=PID,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        return log.append_as_leader(records, leader_epoch=0, guard=guard)

    def end(self, log: PartitionLog, *, commit: bool, epoch: int | None = None) -> None:
        """By its coordinator, which raises the epoch for each marker in version 2."""
        marker = build_marker(
            is_commit=commit,
            coordinator_epoch=0,
            producer_id=PID,
            producer_epoch=self.epoch if epoch is None else epoch,
            timestamp=1000,
        )
        log.append_as_leader(memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR)


@pytest.fixture
def home() -> Home:
    return Home()


@pytest.fixture
def log(home: Home) -> PartitionLog:
    return home.open(SMALL)


@pytest.fixture
def producer(log: PartitionLog) -> Producer:
    """Some of its transactions have ended, either way."""
    producer = Producer()
    for commit in (True, False, True):
        producer.send(log, 2)
        producer.send(log)
        producer.end(log, commit=commit)
    return producer


def _is_duplicate_of(again: AppendInfo, first: AppendInfo) -> bool:
    return again.is_duplicate and (again.first_offset, again.last_offset) == (
        first.first_offset,
        first.last_offset,
    )


def test_up_to_five_batches_in_flight_are_all_sent_again(
    log: PartitionLog, producer: Producer
) -> None:
    """The connection broke; nobody knows which of them the log has: all."""
    begins, firsts = [], []
    for count in (1, 2, 1, 3, 1):
        begins.append((producer.sequence, count))
        firsts.append(producer.send(log, count))
    for (sequence, count), first in zip(begins, firsts, strict=True):
        assert _is_duplicate_of(producer.send_again(log, sequence, count), first)


def test_the_first_batch_of_a_transaction_is_sent_again(
    log: PartitionLog, producer: Producer
) -> None:
    """Also right behind the marker of the one before, whose sequences it continues."""
    sequence = producer.sequence
    first = producer.send(log, 2)
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)


def test_after_a_fail_over_the_follower_knows_the_open_transaction(
    home: Home, log: PartitionLog, producer: Producer
) -> None:
    """NOT_LEADER_OR_FOLLOWER; the next leader has read all of it from this one."""
    sequence = producer.sequence
    first = producer.send(log, 2)
    follower = Home(1).open(SMALL)
    while follower.log_end_offset < log.log_end_offset:
        follower.append_as_follower(memoryview(read_bytes(log, follower.log_end_offset)))
    assert _is_duplicate_of(producer.send_again(follower, sequence, 2), first)
    assert not producer.send(follower).is_duplicate


def test_a_new_leader_that_read_its_producers_from_a_snapshot_knows_the_last_batch(
    home: Home, log: PartitionLog, producer: Producer
) -> None:
    producer.send(log)
    sequence = producer.sequence
    first = producer.send(log, 2)
    log = home.restart(log)
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)
    assert not producer.send(log).is_duplicate


def test_a_new_leader_that_crashed_knows_it_from_the_records(
    home: Home, log: PartitionLog, producer: Producer
) -> None:
    """The last snapshot is older than the transaction, or there is none."""
    sequence = producer.sequence
    first = producer.send(log, 2)
    log.flush(lambda failure: None)
    log = home.open(SMALL)
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)


def test_a_marker_that_is_truncated_away_has_ended_nothing(
    log: PartitionLog, producer: Producer
) -> None:
    """It was not replicated when its leader fell. The coordinator writes it again; until then the
    transaction is open, and what its producer sends again is in it."""
    sequence = producer.sequence
    first = producer.send(log, 2)
    end = log.log_end_offset
    producer.end(log, commit=True)
    log.truncate_to(end)
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)
    producer.end(log, commit=True)


def test_a_batch_that_is_truncated_away_is_written_when_it_is_sent_again(
    log: PartitionLog, producer: Producer
) -> None:
    """Of the open transaction, also if it was the first of it: what the log knows of the producer
    then is of the transaction before."""
    sequence, end = producer.sequence, log.log_end_offset
    producer.send(log, 2)
    log.truncate_to(end)
    again = producer.send_again(log, sequence, 2)
    assert not again.is_duplicate
    assert again.first_offset == end


def test_records_that_were_deleted_are_still_known_as_written(
    home: Home, log: PartitionLog, producer: Producer
) -> None:
    """DeleteRecords, or retention, went past the first records of the open transaction. (After a
    restart with nothing left Apache Kafka knows nobody either.)"""
    producer.send(log)
    sequence = producer.sequence
    first = producer.send(log, 2)
    log.advance_high_watermark(log.log_end_offset)
    log.advance_log_start_offset(first.last_offset)
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)
    log = home.restart(log)
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)


def test_a_producer_that_was_forgotten_goes_on_where_it_was(
    log: PartitionLog, producer: Producer
) -> None:
    """producer.id.expiration.ms is over: nobody knows its sequences any more."""
    assert log.expire_producers(Instant(2 * 86_400_000)) == 1
    sequence = producer.sequence
    first = producer.send(log, 2)
    assert not first.is_duplicate
    assert _is_duplicate_of(producer.send_again(log, sequence, 2), first)


def test_a_new_epoch_begins_at_zero_though_the_old_one_did_too(log: PartitionLog) -> None:
    """By InitProducerId, or with each transaction of version 2: the same sequence numbers are
    other records."""
    old = Producer()
    before = old.send(log, 2)
    old.end(log, commit=False, epoch=1)
    new = Producer(epoch=1)
    first = new.send(log, 2)
    assert first.first_offset > before.last_offset
    assert _is_duplicate_of(new.send_again(log, 0, 2), first)
    with pytest.raises(Refused) as refused:
        old.send_again(log, 0, 2)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_batch_that_was_never_written_before_an_abort_may_leave_its_sequence(
    log: PartitionLog, producer: Producer
) -> None:
    """Clients give the numbers of records that they never sent to others: nothing is refused,
    and nothing taken for what came before."""
    producer.send(log)
    producer.end(log, commit=False)
    assert not producer.send(log, 2).is_duplicate
    producer.end(log, commit=True)
    assert not producer.send(log).is_duplicate
