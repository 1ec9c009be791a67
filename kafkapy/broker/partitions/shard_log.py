"""A Partition narrowed to what a coordinator's shard needs of it (coordinator/shard_log.py)."""

from typing import Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.log.append import Origin
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.runtime.record_log import Committed


def follow_leadership(shards: Shards[Any, Any], partition: Partition, is_leader: bool) -> None:
    """This node leads the partition now, in whichever epoch, or does not; if it is of the
    shards' topic, they have one more or one less."""
    topic, index = partition.topic_partition
    if topic != shards.topic:
        return
    if is_leader:
        shards.lead(index, partition.leader_epoch, PartitionShardLog(partition))
    else:
        shards.resign(index)


class PartitionShardLog:
    """The shard appends as the coordinator: no sequences are checked, epochs are, and so is
    the guard of offsets in a transaction: void if a marker came in between (KIP-890)."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    @property
    def start_offset(self) -> int:
        return self._partition.log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self._partition.log.log_end_offset

    def append(
        self,
        batch: bytes,
        *,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
    ) -> int:
        self._partition.check_leader()
        try:
            info = self._partition.append(
                memoryview(batch),
                origin=Origin.COORDINATOR,
                needs_all=True,
                transaction_version=transaction_version,
                guard=guard,
            )
        except DiskFailed as failed:
            raise self._refused(failed) from failed
        return info.last_offset + 1

    def when_committed(self, end_offset: int, then: Committed) -> None:
        def acknowledged(code: ErrorCode) -> None:
            # Too few in sync by now is what a producer with acks=all wants to hear. The
            # watermark has passed all the same: the coordinator goes on.
            is_committed = code in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
            then(None if is_committed else code)

        self._partition.when_committed(end_offset, acknowledged)

    def read(self, offset: int, max_bytes: int) -> bytes:
        log = self._partition.log
        try:
            found = log.read(offset, max_bytes, upper=log.log_end_offset, min_one_batch=True)
            try:
                return b"".join(one.read() for one in found.slices)
            finally:
                for one in found.slices:
                    one.release()
        except DiskFailed as failed:
            raise self._refused(failed) from failed

    def _refused(self, failed: DiskFailed) -> Refused:
        """The directory goes offline, and the leadership of what was in it with it."""
        self._partition.disk_failed(failed)
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR)
