"""One checkpoint file of a log directory: an offset of each of its logs (formats/log 2).

write_later   gathered by a job (core/jobs.py), so that ten thousand logs delay nobody;
              written off the loop, and only if anything has changed
write_now     before something must not happen without it
forget        before a log takes the name of one that is gone: what the file says of that
              one (a log start, say) would be believed of the new one after a crash
"""

from collections.abc import Callable
from typing import Final

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock, Disk, Flushed
from kafkapy.log.directories.checkpoints import encode_offsets, read_offsets
from kafkapy.log.partition_log import PartitionLog

_LOG_COST_US: Final = 2

Logs = dict[TopicPartition, PartitionLog]


class OffsetCheckpoint:
    """`offset_of` says what to write of a log; None: nothing."""

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        path: str,
        logs: Logs,
        offset_of: Callable[[PartitionLog], int | None],
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._path = path
        self._logs = logs
        self._offset_of = offset_of
        self._written: bytes | None = None
        # Of whom the file may speak.
        self._named: set[TopicPartition] = set()
        self._gathering: tuple[Job, Flushed] | None = None

    def read(self) -> dict[TopicPartition, int]:
        offsets = read_offsets(self._disk, self._path)
        self._named = set(offsets)
        return offsets

    def forget(self, topic_partition: TopicPartition) -> None:
        """The file must not speak of this partition, which has no log here."""
        assert topic_partition not in self._logs, topic_partition
        if topic_partition in self._named:
            self.write_now()

    def write_later(self, then: Flushed) -> None:
        """What the logs say in the next moments; a write that is being gathered is dropped
        for this one."""
        self._drop_gathering()
        job = Job(self._clock, self._gather(then))
        self._gathering = job, then
        job.start()

    def write_now(self) -> None:
        self._drop_gathering()
        gathered: dict[TopicPartition, int] = {}
        for log in self._logs.values():
            self._add(log, gathered)
        self._written = encode_offsets(gathered)
        self._disk.write_file(self._path, self._written)
        self._named = set(gathered)

    def _drop_gathering(self) -> None:
        """What overtakes it says more."""
        gathering, self._gathering = self._gathering, None
        if gathering is not None:
            job, then = gathering
            job.stop()
            then(None)

    def _gather(self, then: Flushed) -> Steps:
        gathered: dict[TopicPartition, int] = {}
        for log in list(self._logs.values()):
            if self._logs.get(log.topic_partition) is log:  # not deleted since
                self._add(log, gathered)
                yield _LOG_COST_US
        self._gathering = None
        self._write_later(gathered, then)

    def _add(self, log: PartitionLog, gathered: dict[TopicPartition, int]) -> None:
        offset = self._offset_of(log)
        if offset is not None:
            gathered[log.topic_partition] = offset

    def _write_later(self, gathered: dict[TopicPartition, int], then: Flushed) -> None:
        data = encode_offsets(gathered)
        if data == self._written:
            then(None)
            return

        def written(error: DiskFailed | None) -> None:
            if error is not None:
                self._written = None
            elif self._written == data:
                self._named = set(gathered)
            then(error)

        self._written = data
        self._named.update(gathered)
        self._disk.write_file_later(self._path, data, written)
