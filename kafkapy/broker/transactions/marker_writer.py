"""Transaction markers into the partitions that this node leads (formats/transactions 3).

    WriteTxnMarkers, from another coordinator --+
    our own transaction coordinator ------------+--> data partition: one control batch
                                                +--> __consumer_offsets: the group's shard,
                                                     so that pending offsets come to count

A marker is answered when it is committed. Writing one twice is harmless.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.core.step import TransactionEnded
from kafkapy.log.append import Origin
from kafkapy.protocol.batches.control_records import build_marker

Told = Callable[[ErrorCode], None]


class Marker(NamedTuple):
    """The end of one producer's transaction, whatever the partition."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int


class GroupShard(Protocol):
    def complete_transaction(
        self, ended: TransactionEnded, then: Callable[[Refused | None], None]
    ) -> None: ...


class MarkerWriter:
    def __init__(
        self,
        *,
        clock: Clock,
        find_partition: Callable[[str, int], Partition | None],
        find_group_shard: Callable[[int], GroupShard],
        disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        """`find_group_shard(partition)` is Refused where no shard of it is active here."""
        self._clock = clock
        self._find_partition = find_partition
        self._find_group_shard = find_group_shard
        self._disk_failed = disk_failed

    def write(self, marker: Marker, topic_partition: TopicPartition, then: Told) -> None:
        """`then` once, at once or when the marker is replicated; NONE if all went well."""
        partition = self._find_partition(*topic_partition)
        if partition is None:
            then(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif topic_partition.topic == CONSUMER_OFFSETS:
            self._write_offsets(marker, topic_partition.partition, then)
        else:
            self._write_data(marker, partition, then)

    def _write_data(self, marker: Marker, partition: Partition, then: Told) -> None:
        batch = build_marker(
            is_commit=marker.committed,
            coordinator_epoch=marker.coordinator_epoch,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=self._clock.wall(),
        )
        try:
            partition.check_leader()
            info = partition.append(
                memoryview(batch),
                origin=Origin.COORDINATOR,
                needs_all=True,
                transaction_version=marker.transaction_version,
            )
        except Refused as refused:
            then(refused.code)
        except DiskFailed as failed:
            self._disk_failed(failed)
            then(ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            partition.when_committed(info.last_offset + 1, then)

    def _write_offsets(self, marker: Marker, partition: int, then: Told) -> None:
        ended = TransactionEnded(
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            is_committed=marker.committed,
            transaction_version=marker.transaction_version,
        )
        try:
            shard = self._find_group_shard(partition)
        except Refused as refused:
            then(_as_of_a_log(refused))
            return
        shard.complete_transaction(ended, lambda refused: then(_as_of_a_log(refused)))


def _as_of_a_log(refused: Refused | None) -> ErrorCode:
    """The asker wrote to a partition and knows nothing of the coordinator behind it."""
    if refused is None:
        return ErrorCode.NONE
    if refused.code in (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return refused.code
