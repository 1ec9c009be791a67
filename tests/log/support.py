"""What tests of logs share: a simulated disk and clock, batches, and looking into a log."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Callback, Disk
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import (
    BatchHeader,
    NewRecord,
    Record,
    batches,
    build_batch,
    records,
)
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.rng import SimRng

ORDERS = TopicPartition("orders", 0)
TOPIC_ID = UUID(int=0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0)
NEVER_DELETE = LogConfig(retention_ms=-1)


class Answers:
    """A `Flushed` callback that remembers."""

    def __init__(self) -> None:
        self.errors: list[DiskFailed | None] = []

    def __call__(self, error: DiskFailed | None) -> None:
        self.errors.append(error)


class Home:
    """A disk with the directory /d on it, and logs of "orders-0" in it."""

    def __init__(self, seed: int = 0, *, holds_flushes: bool = False) -> None:
        self.clock = SimClock()
        self.rng = SimRng(seed)
        self.waiting: list[Callback] = []
        self.disk = SimDisk(self.clock.now, self.waiting.append if holds_flushes else None)
        self.disk.make_directory("/d")
        self.disk.flush_directory("/")
        self.path = "/d/orders-0"

    def open(self, config: LogConfig = NEVER_DELETE, **options: Any) -> PartitionLog:
        options.setdefault("is_clean", False)
        return PartitionLog.open(
            self.disk, self.clock, self.rng, self.path, ORDERS, config, **options
        )

    def finish_flushes(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def restart(self, log: PartitionLog, **options: Any) -> PartitionLog:
        """Close cleanly and open again."""
        answers = Answers()
        log.close(answers)
        self.finish_flushes()
        assert answers.errors == [None]
        options.setdefault("log_start_offset", log.log_start_offset)
        options.setdefault("high_watermark", log.high_watermark)
        return self.open(log.config, is_clean=True, recovery_point=log.recovery_point, **options)


def batch(count: int = 1, *, size: int = 10, timestamp: int = 1000, **options: Any) -> memoryview:
    """A batch as a client sends it; record i has the timestamp `timestamp` + i."""
    new = [
        NewRecord(key=b"k%d" % i, value=bytes(size), timestamp=timestamp + i) for i in range(count)
    ]
    return memoryview(build_batch(new, **options)).toreadonly()


def append(log: PartitionLog, count: int = 1, *, leader_epoch: int = 0, **options: Any) -> int:
    """Append one batch of `count` records; its first offset."""
    return log.append_as_leader(batch(count, **options), leader_epoch=leader_epoch).first_offset


def read_bytes(
    log: PartitionLog, offset: int, max_bytes: int = 2**30, upper: int | None = None
) -> bytes:
    """One read, with its slices joined."""
    found = log.read(offset, max_bytes, upper=log.log_end_offset if upper is None else upper)
    data = b"".join(one.read() for one in found.slices)
    for one in found.slices:
        one.release()
    assert len(data) == found.size
    return data


def all_batches(log: PartitionLog) -> Iterator[tuple[BatchHeader, bytes]]:
    """Everything that can be read, as a consumer would go about it."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = read_bytes(log, offset)
        if not data:
            return
        for position, header in batches(data):
            yield header, data[position : position + header.size]
            assert header.next_offset > offset, (offset, header)
            offset = header.next_offset


def all_records(log: PartitionLog) -> list[Record]:
    return [record for _, data in all_batches(log) for record in records(data)]


def offsets(log: PartitionLog) -> list[int]:
    return [record.offset for record in all_records(log)]


def files(disk: Disk, directory: str) -> dict[str, bytes]:
    return {name: disk.read_file(f"{directory}/{name}") for name in disk.list(directory)}
