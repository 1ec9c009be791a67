"""`__share_group_state` is not compacted: what snapshots made redundant is cut off here.

    mark: the log's end --> every share partition without a snapshot behind the mark gets one
                        --> all committed: nothing before the mark is needed

Once an interval (share.coordinator.state.topic.prune.interval.ms), shard by shard, and only where
more was written than the snapshots of the last time.
"""

from functools import partial
from typing import Any, Final

from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.coordinator.shard import Shard
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import Refused
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import later
from kafkapy.share.coordinator.events import SetMark, ShareReply, Snapshotted, SnapshotTheRest

# Or fewer, if they are large: a batch of them has to stay below max.message.bytes.
SNAPSHOTS_PER_STEP: Final = 100


class Pruning:
    def __init__(
        self,
        clock: Clock,
        shards: Shards[Any, ShareReply],
        partitions: Partitions,
        interval_ms: int,
    ) -> None:
        self._clock = clock
        self._shards = shards
        self._partitions = partitions
        self._interval_ms = interval_ms
        self._timer: Timer | None = None
        # Where a shard's log ended after its last snapshots.
        self._pruned_to: dict[int, int] = {}

    def start(self) -> None:
        self._timer = self._clock.call_at(
            later(self._clock.now(), self._interval_ms), self._time_is_up
        )

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_is_up(self) -> None:
        self.prune()
        self.start()

    def prune(self) -> None:
        for shard in self._shards.active_shards():
            end = self._end_of(shard)
            if end != self._pruned_to.get(shard.topic_partition.partition, 0):
                shard.submit(SetMark(), partial(self._go_on, shard, end))

    def _go_on(self, shard: Shard[Any, ShareReply], mark: int, _: object = None) -> None:
        shard.submit(SnapshotTheRest(SNAPSHOTS_PER_STEP), partial(self._snapshotted, shard, mark))

    def _snapshotted(
        self, shard: Shard[Any, ShareReply], mark: int, reply: ShareReply | Refused
    ) -> None:
        if not isinstance(reply, Snapshotted):
            return  # another leads it, or too few are in sync: the next time
        if reply.has_more:
            self._clock.call_soon(partial(self._go_on, shard, mark))
        else:
            self._cut(shard, mark)

    def _cut(self, shard: Shard[Any, ShareReply], mark: int) -> None:
        """Everything that is known is written behind `mark`, and committed."""
        partition = self._partitions.get(*shard.topic_partition)
        if partition is None or not partition.is_leader:
            return
        if mark > partition.log.log_start_offset:
            partition.begin_later(mark)
        self._pruned_to[shard.topic_partition.partition] = partition.log.log_end_offset

    def _end_of(self, shard: Shard[Any, ShareReply]) -> int:
        partition = self._partitions.get(*shard.topic_partition)
        return 0 if partition is None else partition.log.log_end_offset
