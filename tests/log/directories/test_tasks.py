"""What is done to all logs from time to time."""

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import Instant
from kafkapy.log.cleaning.cleaner import Cleaner
from kafkapy.log.directories.all_logs import DirectorySettings
from kafkapy.log.directories.log_directory import LogDirectory
from kafkapy.log.directories.tasks import DirectoryTasks
from kafkapy.log.partition_log import PartitionLog
from tests.log.machine import CONFIG, A, Machine
from tests.log.support import TOPIC_ID

LOGS = 100


class Kit:
    def __init__(self) -> None:
        self.machine = Machine()
        self.reported: list[DiskFailed | None] = []
        settings = DirectorySettings(initial_delay_ms=10, retention_check_interval_ms=100)
        self.directory = LogDirectory(
            self.machine.disk,
            self.machine.clock,
            self.machine.rng,
            self.machine.journal,
            A,
            cleaner_settings=settings.cleaner,
            producer_expiry_ms=settings.producer_expiry_ms,
            failed=self.reported.append,
        )
        for i in range(LOGS):
            self.directory.create(TopicPartition("t", i), TOPIC_ID, CONFIG)
        self.tasks = DirectoryTasks(
            self.machine.clock, settings, lambda: [self.directory], self.reported.append
        )
        self.began = self.machine.clock.now()

    def tick(self, after_ms: int) -> Instant:
        return self.tasks.tick(Instant(self.began + after_ms))


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_nothing_is_due_before_the_first_delay(kit: Kit) -> None:
    assert kit.tick(9) == kit.began + 10
    kit.machine.clock.settle()
    assert kit.machine.clock.calls == 0


def test_each_task_comes_again_after_its_interval(kit: Kit) -> None:
    assert kit.tick(10) == kit.began + 10 + 100
    assert kit.tick(110) == kit.began + 210


def test_how_often_it_is_cleaned_may_change(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    cleaned: list[Cleaner] = []
    monkeypatch.setattr(
        "kafkapy.log.cleaning.cleaner.Cleaner.tick", lambda one: cleaned.append(one)
    )
    kit.tick(10)
    assert len(cleaned) == 1
    kit.tick(14_000)
    kit.tasks.alter(DirectorySettings(cleaner_backoff_ms=50))
    kit.tick(14_050)
    assert len(cleaned) == 2
    kit.tick(14_100)
    assert len(cleaned) == 3


def test_a_pass_gives_way_after_every_few_logs(kit: Kit) -> None:
    kit.tick(10)
    before = kit.machine.clock.calls
    kit.machine.clock.settle()
    assert kit.machine.clock.calls - before >= LOGS // 32


def test_a_log_whose_disk_fails_does_not_keep_the_others_waiting(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[TopicPartition] = []

    def failing(log: PartitionLog, now: Instant) -> int:
        topic_partition = log.topic_partition
        seen.append(topic_partition)
        if topic_partition.partition == 5:
            raise DiskFailed(A, "bad sector")
        return 0

    monkeypatch.setattr("kafkapy.log.partition_log.PartitionLog.apply_retention", failing)
    kit.tick(10)
    kit.machine.clock.settle()
    assert len(seen) == LOGS
    assert [error.cause for error in kit.reported if error is not None] == ["bad sector"]


def test_a_log_that_was_closed_meanwhile_is_left_alone(kit: Kit) -> None:
    log = kit.directory.logs[TopicPartition("t", 99)]
    kit.tick(10)
    kit.directory.delete(log)
    kit.machine.clock.settle()
    assert [error for error in kit.reported if error is not None] == []


def test_stopped_it_ends_the_passes_under_way(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(
        "kafkapy.log.partition_log.PartitionLog.apply_retention",
        lambda log, now: seen.append(log),
    )
    kit.tick(10)
    kit.tasks.stop()
    kit.machine.clock.settle()
    assert len(seen) == 32
