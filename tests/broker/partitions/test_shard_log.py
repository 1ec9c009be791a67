from dataclasses import replace
from uuid import UUID

import pytest

from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.batches.control_records import build_marker
from kafkapy.sim.world.file import SimFileSlice
from tests.broker.partitions.in_memory import open_partition
from tests.coordinator.fakes import FakeClock

OFFSETS = TopicPartition("__consumer_offsets", 3)
ONE, TWO = UUID(int=1), UUID(int=2)


def state(isr: tuple[int, ...], leader: int, epoch: int) -> PartitionState:
    return PartitionState((1, 2), isr, leader, epoch, epoch, (ONE, TWO))


def test_a_commit_waits_for_the_watermark_and_fails_with_the_leadership() -> None:
    clock = FakeClock()
    partition = open_partition(OFFSETS, clock=clock)
    log = PartitionShardLog(partition)
    heard: list[ErrorCode | None] = []
    end = log.append(build_batch([NewRecord(value=b"1", timestamp=clock.now())]))
    log.when_committed(end, heard.append)
    assert heard == [None]
    partition.follow_metadata(state((1, 2), leader=1, epoch=2))
    end = log.append(build_batch([NewRecord(value=b"2", timestamp=clock.now())]))
    log.when_committed(end, heard.append)
    assert heard == [None]
    partition.follow_metadata(state((1, 2), leader=2, epoch=3))
    assert heard == [None, ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_what_the_watermark_passed_is_committed_also_with_too_few_in_sync() -> None:
    clock = FakeClock()
    partition = open_partition(OFFSETS, clock=clock)
    log = PartitionShardLog(partition)
    end = log.append(build_batch([NewRecord(value=b"1", timestamp=clock.now())]))
    partition.log.config = replace(partition.log.config, min_insync_replicas=2)
    partition.follow_metadata(state((1,), leader=1, epoch=2))
    heard: list[ErrorCode | None] = []
    log.when_committed(end, heard.append)
    assert heard == [None]


def in_a_transaction(offset: int) -> bytes:
    return build_batch(
        [NewRecord(value=b"%d" % offset, timestamp=1_000_000)],
        producer_id=9,
        producer_epoch=0,
        is_transactional=True,
    )


def test_a_guard_is_void_once_a_marker_came_in_between() -> None:
    """Also where the next transaction of that producer is being verified by then."""
    clock = FakeClock()
    partition = open_partition(OFFSETS, clock=clock)
    log = PartitionShardLog(partition)

    def begin() -> VerificationGuard | None:
        return partition.log.producers.begin_verification(
            9, 0, -1, supports_epoch_bump=False, now=clock.wall()
        )

    first = begin()
    marker = build_marker(
        is_commit=False, coordinator_epoch=0, producer_id=9, producer_epoch=0, timestamp=1_000_000
    )
    log.append(marker)
    second = begin()
    with pytest.raises(Refused) as refused:
        log.append(in_a_transaction(1), guard=first)
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE
    end = log.append(in_a_transaction(2), guard=second)
    assert begin() is None, "it is open"
    assert log.append(in_a_transaction(3)) == end + 1


def test_a_disk_that_cannot_be_read_takes_its_directory_offline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()
    partition = open_partition(OFFSETS, clock=clock)
    failures: list[DiskFailed] = []
    partition.disk_failed = failures.append
    log = PartitionShardLog(partition)
    log.append(build_batch([NewRecord(value=b"1", timestamp=clock.now())]))
    bad = DiskFailed("/data", "I/O error")

    def fail(_: SimFileSlice) -> bytes:
        raise bad

    monkeypatch.setattr(SimFileSlice, "read", fail)
    with pytest.raises(Refused) as refused:
        log.read(0, 1000)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert failures == [bad]
