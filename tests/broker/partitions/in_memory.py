"""Partitions with real logs on a disk in memory, led by node 1."""

from uuid import UUID

from kafkapy.broker.partitions.needs import ChangeAnswered
from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng
from tests.coordinator.fakes import FakeClock

TOPIC_ID = UUID(int=7 << 64)


def open_partition(
    topic_partition: TopicPartition,
    *,
    clock: FakeClock,
    disk: SimDisk | None = None,
    files: dict[str, bytes] | None = None,
    leader_epoch: int = 1,
) -> Partition:
    """`files` are in its directory before it is opened, as if a broker had died there."""
    disk = disk or SimDisk()
    directory = f"/data/{topic_partition}"
    for parent in ("/data", directory):
        if not disk.exists(parent):
            disk.make_directory(parent)
    for name, data in (files or {}).items():
        disk.write_file(f"{directory}/{name}", data)
    log = PartitionLog.open(
        disk, clock, SimRng(1), directory, topic_partition, LogConfig(), is_clean=False
    )
    partition = Partition(topic_partition, TOPIC_ID, 1, log, _failed, FakeReplication(clock))
    state = PartitionState((1,), (1,), 1, leader_epoch, leader_epoch, (UUID(int=1),))
    partition.follow_metadata(state)
    return partition


class FakeReplication:
    """Everybody is alive; what is proposed to the controller waits for the test."""

    max_lag_ms = 30_000

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.dead: set[int] = set()
        self.proposed: list[tuple[tuple[int, ...], ChangeAnswered]] = []
        self.withdrawn = 0
        self.led: list[Partition] = []

    def is_eligible(self, broker_id: int, broker_epoch: int) -> bool:
        return broker_id not in self.dead

    def propose(self, partition: Partition, isr: tuple[int, ...], then: ChangeAnswered) -> None:
        self.proposed.append((isr, then))

    def left(self, partition: Partition, replicas: list[int]) -> None:
        pass

    def led_anew(self, partition: Partition) -> None:
        self.led.append(partition)

    def withdraw(self, partition: Partition) -> None:
        self.withdrawn += 1


def _failed(failed: DiskFailed) -> None:
    raise failed
