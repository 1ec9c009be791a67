"""Checkpoint files: what they say, and what they must not say."""

from dataclasses import dataclass
from typing import cast

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.log.checkpoints import encode_offsets, read_offsets
from kafkapy.log.offset_checkpoint import Logs, OffsetCheckpoint
from kafkapy.sim.clock import SimClock
from kafkapy.sim.disk import SimDisk

PATH = "/d/log-start-offset-checkpoint"
ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 3)


@dataclass
class FakeLog:
    topic_partition: TopicPartition
    log_start_offset: int


class Kit:
    def __init__(self) -> None:
        self.disk = SimDisk()
        self.disk.make_directory("/d")
        self.clock = SimClock()
        self.offsets: dict[TopicPartition, FakeLog] = {}
        self.errors: list[DiskFailed | None] = []
        self.checkpoint = OffsetCheckpoint(
            self.disk,
            self.clock,
            PATH,
            cast(Logs, self.offsets),
            lambda log: log.log_start_offset,
        )

    def add(self, topic_partition: TopicPartition, offset: int) -> None:
        self.offsets[topic_partition] = FakeLog(topic_partition, offset)

    def write_later(self) -> None:
        self.checkpoint.write_later(self.errors.append)
        self.clock.settle()

    def written(self) -> dict[TopicPartition, int]:
        return read_offsets(self.disk, PATH)


def test_it_says_an_offset_of_each_log() -> None:
    kit = Kit()
    kit.add(ORDERS, 5)
    kit.add(PAYMENTS, 7)
    kit.write_later()
    assert kit.errors == [None]
    assert kit.written() == {ORDERS: 5, PAYMENTS: 7}


def test_nothing_is_written_when_nothing_has_changed() -> None:
    kit = Kit()
    kit.add(ORDERS, 5)
    kit.write_later()
    kit.disk.remove(PATH)
    kit.write_later()
    assert not kit.disk.exists(PATH)
    kit.offsets[ORDERS].log_start_offset = 6
    kit.write_later()
    assert kit.written() == {ORDERS: 6}


def test_what_failed_is_written_again() -> None:
    kit = Kit()
    kit.add(ORDERS, 5)
    kit.disk.fail("write_file")
    kit.write_later()
    assert isinstance(kit.errors.pop(), DiskFailed)
    kit.write_later()
    assert kit.written() == {ORDERS: 5}


def test_a_log_that_takes_an_old_name_does_not_inherit_its_offset() -> None:
    """A deleted topic's log start is still in the file; a new topic of that name comes."""
    kit = Kit()
    kit.disk.write_file(PATH, encode_offsets({ORDERS: 25, PAYMENTS: 7}))
    assert kit.checkpoint.read() == {ORDERS: 25, PAYMENTS: 7}
    kit.add(PAYMENTS, 7)
    kit.checkpoint.forget(ORDERS)
    assert kit.written() == {PAYMENTS: 7}


def test_nor_does_it_while_the_file_is_being_written() -> None:
    kit = Kit()
    kit.add(ORDERS, 25)
    kit.write_later()
    waiting: list[object] = []
    kit.disk.run_later = waiting.append
    del kit.offsets[ORDERS]
    kit.write_later()
    kit.checkpoint.forget(ORDERS)
    assert kit.written() == {}


def test_forgetting_who_is_not_in_the_file_costs_nothing() -> None:
    kit = Kit()
    kit.add(PAYMENTS, 7)
    kit.write_later()
    kit.disk.fail("write_file")
    kit.checkpoint.forget(ORDERS)
