"""A checkpoint of all logs of a directory: gathered in slices, never stale."""

from types import SimpleNamespace
from typing import cast

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.log.directories.offset_checkpoint import OffsetCheckpoint
from kafkapy.log.partition_log import PartitionLog
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from tests.log.support import Answers

PATH = "/recovery-point-offset-checkpoint"


class Kit:
    def __init__(self, count: int) -> None:
        self.clock = SimClock()
        self.disk = SimDisk()
        self.offsets = {TopicPartition("t", i): i for i in range(count)}
        self.logs = {
            tp: cast(PartitionLog, SimpleNamespace(topic_partition=tp)) for tp in self.offsets
        }
        self.checkpoint = OffsetCheckpoint(
            self.disk,
            self.clock,
            PATH,
            self.logs,
            lambda log: self.offsets.get(log.topic_partition),
        )


@pytest.fixture
def kit() -> Kit:
    return Kit(1200)


def test_all_logs_are_written(kit: Kit) -> None:
    answers = Answers()
    kit.checkpoint.write_later(answers)
    assert answers.errors == []
    kit.clock.settle()
    assert answers.errors == [None]
    assert kit.checkpoint.read() == kit.offsets


def test_others_run_between_the_slices(kit: Kit) -> None:
    kit.checkpoint.write_later(Answers())
    assert not kit.disk.exists(PATH)
    kit.clock.step(kit.clock.now())
    assert not kit.disk.exists(PATH)
    kit.clock.settle()
    assert kit.clock.calls == 2


def test_a_log_without_a_value_or_deleted_meanwhile_is_left_out(kit: Kit) -> None:
    del kit.offsets[TopicPartition("t", 7)]
    kit.checkpoint.write_later(Answers())
    del kit.logs[TopicPartition("t", 1199)]
    kit.clock.settle()
    written = kit.checkpoint.read()
    assert TopicPartition("t", 7) not in written
    assert TopicPartition("t", 1199) not in written
    assert len(written) == 1198


def test_what_has_not_changed_is_not_written_again(kit: Kit) -> None:
    kit.checkpoint.write_now()
    kit.disk.fail("write_file")
    answers = Answers()
    kit.checkpoint.write_later(answers)
    kit.clock.settle()
    assert answers.errors == [None]


def test_a_write_now_overtakes_one_that_is_being_gathered(kit: Kit) -> None:
    """A recovery point that was lowered must not rise again from an older look at it."""
    answers = Answers()
    kit.checkpoint.write_later(answers)
    kit.offsets[TopicPartition("t", 0)] = -5
    kit.checkpoint.write_now()
    kit.clock.settle()
    assert kit.checkpoint.read()[TopicPartition("t", 0)] == -5
    assert answers.errors == [None]


def test_after_a_failure_the_same_is_tried_again(kit: Kit) -> None:
    kit.disk.fail("write_file")
    answers = Answers()
    for _ in range(2):
        kit.checkpoint.write_later(answers)
        kit.clock.settle()
    assert answers.errors[0] is not None
    assert answers.errors[1] is None
    assert kit.checkpoint.read() == kit.offsets
