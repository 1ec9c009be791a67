"""A coordinator that is lost: what clients meet while a coordinator moves to another broker.

The shard is closed and its memory dropped, exactly as when the leadership of its partition is
lost; electing is leading it again, with a replay of the partition.
"""

from types import TracebackType
from typing import Any

from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.coordinator.shards import Shards
from kafkapy.testing.node.thread import BrokerThread


class LostCoordinator:
    """`elect()` ends it; so does leaving a `with`."""

    def __init__(self, thread: BrokerThread, key: str, is_group: bool) -> None:
        self._thread = thread
        self._key = key
        self._is_group = is_group
        self._is_lost = True

    def elect(self) -> None:
        """A new coordinator reads the log and serves."""
        if self._is_lost:
            self._is_lost = False
            self._thread.call(self._lead)

    def __enter__(self) -> "LostCoordinator":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._thread.is_over:  # killed meanwhile: whoever starts next has elected
            self.elect()

    def resign(self, broker: BrokerRole) -> None:
        shards = self._shards(broker)
        shards.resign(shards.partition_of(self._key))

    def _lead(self, broker: BrokerRole) -> None:
        shards = self._shards(broker)
        index = shards.partition_of(self._key)
        partition = broker.partitions.get(shards.topic, index)
        assert partition is not None, f"{shards.topic}-{index} is on the only broker"
        shards.lead(index, partition.leader_epoch, PartitionShardLog(partition))

    def _shards(self, broker: BrokerRole) -> Shards[Any, Any]:
        return broker.groups if self._is_group else broker.transactions.shards


def lose(thread: BrokerThread, group: str | None, transactional_id: str | None) -> LostCoordinator:
    if (group is None) == (transactional_id is None):
        raise ValueError("lose_coordinator: name either a group or a transactional_id")
    key = group if group is not None else transactional_id
    assert key is not None, "checked above"
    lost = LostCoordinator(thread, key, group is not None)
    thread.call(lost.resign)
    return lost
