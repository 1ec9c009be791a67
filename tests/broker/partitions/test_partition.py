"""A partition as its leader plays it: what counts, and when it is acknowledged."""

from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Callback
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng
from tests.broker.partitions.in_memory import FakeReplication

NODE = 1
ORDERS = TopicPartition("orders", 0)
TOPIC_ID = UUID(int=1)
EACH_FLUSHED = LogConfig(flush_messages=1)


class Kit:
    """A partition on a disk whose flushes end when the test says so."""

    def __init__(self, config: LogConfig) -> None:
        self.clock = SimClock()
        self.flushes: list[Callback] = []
        self.disk = SimDisk(run_later=self.flushes.append)
        self.disk.make_directory("/a")
        self.disk.make_directory("/b")
        self.failed: list[DiskFailed] = []
        self.answers: list[ErrorCode] = []
        self.config = config
        self.partition = self.opened()

    def log(self, directory: str) -> PartitionLog:
        return PartitionLog.open(
            self.disk,
            self.clock,
            SimRng(1),
            f"{directory}/orders-0",
            ORDERS,
            self.config,
            is_clean=False,
            topic_id=TOPIC_ID,
        )

    def opened(self, leader_epoch: int = 0) -> Partition:
        partition = Partition(
            ORDERS, TOPIC_ID, NODE, self.log("/a"), self.failed.append, FakeReplication(self.clock)
        )
        partition.follow_metadata(
            PartitionState((NODE,), (NODE,), NODE, leader_epoch, leader_epoch, (UUID(int=9),))
        )
        return partition

    def produce(self, *, acks: int) -> None:
        batch = build_batch([NewRecord(value=b"v", timestamp=self.clock.now())])
        info = self.partition.append(memoryview(batch), needs_all=acks == -1)
        when = self.partition.when_committed if acks == -1 else self.partition.when_durable
        when(info.last_offset + 1, self.answers.append)

    def finish_flushes(self) -> None:
        while self.flushes:
            self.flushes.pop(0)()


def test_a_record_counts_at_once_where_nobody_asks_for_a_flush() -> None:
    kit = Kit(LogConfig())
    kit.produce(acks=-1)
    kit.produce(acks=1)
    assert kit.answers == [ErrorCode.NONE, ErrorCode.NONE]
    assert kit.partition.log.high_watermark == 2


def test_where_each_is_flushed_the_acknowledgement_waits_for_the_disk() -> None:
    kit = Kit(EACH_FLUSHED)
    kit.finish_flushes()
    kit.produce(acks=-1)
    kit.produce(acks=1)
    assert kit.answers == []
    assert kit.partition.log.high_watermark == 0
    kit.finish_flushes()
    assert kit.answers == [ErrorCode.NONE, ErrorCode.NONE]
    assert kit.partition.log.high_watermark == 2


def test_what_a_killed_process_did_not_flush_is_flushed_by_the_next() -> None:
    """Nobody need append for consumers to see what is there."""
    kit = Kit(EACH_FLUSHED)
    kit.produce(acks=-1)
    kit.flushes.clear()
    kit.disk.kill()
    kit.partition = kit.opened(leader_epoch=1)
    assert kit.partition.log.high_watermark == 0
    kit.finish_flushes()
    assert kit.partition.log.high_watermark == 1


def test_a_topic_that_wants_flushes_from_now_on_gets_one_at_once() -> None:
    kit = Kit(LogConfig())
    kit.produce(acks=-1)
    kit.partition.log.config = EACH_FLUSHED
    kit.partition.reconfigured()
    kit.finish_flushes()
    assert kit.partition.log.flushed_offset == 1


def test_acknowledgements_go_along_when_the_log_moves() -> None:
    kit = Kit(EACH_FLUSHED)
    kit.produce(acks=-1)
    kit.produce(acks=1)
    old = kit.partition.log
    copy = kit.log("/b")
    for part in old.read(0, 10_000, upper=old.log_end_offset).slices:
        copy.append_as_follower(memoryview(part.read()))
    kit.flushes.clear()
    old.abandon()
    kit.partition.use(copy)
    kit.finish_flushes()
    assert kit.answers == [ErrorCode.NONE, ErrorCode.NONE]


def test_a_flush_of_files_that_are_gone_fails_no_directory() -> None:
    kit = Kit(EACH_FLUSHED)
    kit.produce(acks=-1)
    kit.disk.fail("flush", in_path="/a/orders-0")
    kit.partition.retire()
    kit.partition.log.abandon()
    kit.finish_flushes()
    assert kit.failed == []
    assert kit.answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_flush_that_fails_takes_the_directory_offline() -> None:
    kit = Kit(EACH_FLUSHED)
    kit.finish_flushes()
    kit.produce(acks=-1)
    kit.disk.fail("flush", in_path="/a/orders-0")
    kit.finish_flushes()
    assert [failure.cause for failure in kit.failed] == ["I/O error"]
    assert kit.answers == []
    kit.partition.go_offline()
    assert kit.answers == [ErrorCode.KAFKA_STORAGE_ERROR]
