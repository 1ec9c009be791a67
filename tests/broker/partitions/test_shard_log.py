from dataclasses import replace
from uuid import UUID

from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.protocol.batch import NewRecord, build_batch
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
