"""A disk with two log directories, and the lives of a node on it."""

from collections.abc import Callable

from kafkapy.core.ids import TopicPartition
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.all_logs import AllLogs, DirectorySettings
from kafkapy.log.partition_log import PartitionLog
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.journal import RecordingJournal, Trace
from kafkapy.sim.world.rng import SimRng
from tests.log.support import ORDERS, TOPIC_ID

A, B = "/a", "/b"
PAYMENTS = TopicPartition("payments", 3)
CONFIG = LogConfig(retention_ms=-1, file_delete_delay_ms=1000)


class Machine:
    """A disk with two log directories, and the node's lives on it."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.rng = SimRng(1)
        self.disk = SimDisk(self.clock.now)
        self.journal = RecordingJournal(Trace(self.clock))
        for path in (A, B):
            self.disk.make_directory(path)
        self.disk.flush_directory("/")
        self.ids = {A: self.rng.uuid(), B: self.rng.uuid()}

    def directories(self, **options: str) -> AllLogs:
        return AllLogs(
            self.disk,
            self.clock,
            self.rng,
            self.journal,
            self.ids,
            DirectorySettings(),
            failed=options or None,
        )

    def started(
        self,
        is_stray: Callable[..., bool] = lambda topic_partition, topic_id: False,
        config: LogConfig = CONFIG,
    ) -> AllLogs:
        logs = self.directories()
        for _ in logs.load(lambda topic: config):
            pass
        logs.settle(is_stray)
        return logs

    def stop(self, logs: AllLogs, broker_epoch: int = 7) -> None:
        stopped: list[bool] = []
        logs.close(broker_epoch, lambda: stopped.append(True))
        self.clock.run_until(lambda: bool(stopped), 10_000)
        assert stopped == [True]
        self.clock.forget_all()

    def kill(self) -> None:
        self.disk.kill()
        self.clock.forget_all()


def create(logs: AllLogs, topic_partition: TopicPartition = ORDERS) -> PartitionLog:
    return logs.get_or_create(topic_partition, TOPIC_ID, CONFIG)


def get(logs: AllLogs, topic_partition: TopicPartition = ORDERS) -> PartitionLog:
    log = logs.get(topic_partition)
    assert log is not None
    return log
