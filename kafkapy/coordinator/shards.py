"""The shards of one internal topic on this node, by partition.

    key (group, transactional id) --hash--> partition --> Shard, if this node leads it

The node tells them what it learns from metadata: how many partitions the topic has, which
of them it leads (`lead`) and which no longer (`resign`). Everything else comes in through
`submit` and `tell`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

from kafkapy.coordinator.partitioning import partition_for
from kafkapy.coordinator.shard import Shard
from kafkapy.coordinator.shard_log import RecordCodec, ShardLog
from kafkapy.coordinator.shard_records import ShardSettings
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Callback, Clock
from kafkapy.core.step import Machine
from kafkapy.core.time import later
from kafkapy.runtime.runtime import State, Then

Rec = TypeVar("Rec")
Reply = TypeVar("Reply")

# A shard that lost an append while still leading reads its log again after this long.
RELOAD_AFTER_MS: Final = 500


class Shards(Generic[Rec, Reply]):
    """`new_machine(partition)` makes the empty machine that a shard replays into.

    `watch(shard, records)` is called with records that became committed, and once with
    none when a shard finished loading: whoever acts on committed facts looks there.
    """

    def __init__(
        self,
        topic: str,
        *,
        new_machine: Callable[[int], Machine[Any, Rec, Reply]],
        codec: RecordCodec[Rec],
        clock: Clock,
        settings: ShardSettings | None = None,
        watch: Callable[[Shard[Rec, Reply], Sequence[Rec]], None] | None = None,
    ) -> None:
        self.topic = topic
        # None until the topic exists: nobody coordinates anything then.
        self.partition_count: int | None = None
        self.settings = settings or ShardSettings()
        self.shards: dict[int, Shard[Rec, Reply]] = {}
        # Why a shard's log could not be read, for the operator.
        self.failures: dict[int, str] = {}
        # Who waits for shards to be loaded, by partition.
        self._awaiting: dict[int, list[Callback]] = {}
        self._new_machine = new_machine
        self._codec = codec
        self._clock = clock
        self._watch = watch

    # What the node learns from metadata

    def lead(self, partition: int, leader_epoch: int, log: ShardLog) -> None:
        """This node leads the partition now: replay it and serve. Again: a newer epoch."""
        standing = self.shards.get(partition)
        if standing is not None:
            if standing.leader_epoch == leader_epoch and standing.state is not State.CLOSED:
                return
            self.resign(partition)
        self.failures.pop(partition, None)
        shard: Shard[Rec, Reply] = Shard(
            TopicPartition(self.topic, partition),
            leader_epoch,
            log,
            self._new_machine(partition),
            self._codec,
            self._clock,
            self.settings,
            on_loaded=lambda: self._loaded(shard),
            on_committed=lambda records: self._committed(shard, records),
            on_closed=lambda _, why: self._closed(shard, log, why),
        )
        self.shards[partition] = shard
        shard.load()

    def resign(self, partition: int) -> None:
        """Another node leads the partition, or it is gone."""
        shard = self.shards.pop(partition, None)
        if shard is not None:
            shard.close()

    def close(self) -> None:
        for partition in list(self.shards):
            self.resign(partition)

    # Events

    def partition_of(self, key: str) -> int:
        if not self.partition_count:  # nobody coordinates before the topic is made
            raise Refused(ErrorCode.NOT_COORDINATOR)
        return partition_for(key, self.partition_count)

    def shard_of(self, key: str) -> Shard[Rec, Reply]:
        """The active shard of a group or transactional id, else Refused."""
        return self.active_shard(self.partition_of(key))

    def active_shard(self, partition: int) -> Shard[Rec, Reply]:
        shard = self.shards.get(partition)
        if shard is None:
            raise Refused(ErrorCode.NOT_COORDINATOR)
        if not shard.is_active:
            raise shard.runtime.inactive()
        return shard

    def submit(self, key: str, event: Any, then: Then[Reply] | None = None) -> None:
        try:
            shard = self.shard_of(key)
        except Refused as refused:
            if then is not None:
                then(refused)
            return
        shard.submit(event, then)

    def tell(self, event: Any) -> None:
        """Something every shard should hear of, as a change of metadata."""
        for shard in self.active_shards():
            shard.submit(event)

    def ask_all(self, event: Any, then: Callable[[list[Reply | Refused]], None]) -> None:
        """`then` gets the replies of every shard this node leads, when it has them all;
        those of loading ones are refusals."""
        shards = list(self.shards.values())
        replies: list[Reply | Refused] = []

        def answered(reply: Reply | Refused) -> None:
            replies.append(reply)
            if len(replies) == len(shards):
                then(replies)

        for shard in shards:
            shard.submit(event, answered)
        if not shards:
            then(replies)

    def active_shards(self) -> Iterator[Shard[Rec, Reply]]:
        for shard in list(self.shards.values()):
            if shard.is_active:
                yield shard

    def is_active(self, partition: int) -> bool:
        """Whether this node answers for `partition`, if only that its log cannot be read."""
        shard = self.shards.get(partition)
        return partition in self.failures or (shard is not None and shard.is_active)

    def when_active(self, partition: int, then: Callback) -> None:
        """`then` once `is_active`, at once if it is; which may be never."""
        if self.is_active(partition):
            then()
        else:
            self._awaiting.setdefault(partition, []).append(then)

    # What shards report

    def _loaded(self, shard: Shard[Rec, Reply]) -> None:
        self._committed(shard, ())
        for then in self._awaiting.pop(shard.topic_partition.partition, ()):
            then()

    def _committed(self, shard: Shard[Rec, Reply], records: Sequence[Rec]) -> None:
        if self._watch is not None:
            self._watch(shard, records)

    def _closed(self, shard: Shard[Rec, Reply], log: ShardLog, why: str | None) -> None:
        partition = shard.topic_partition.partition
        if self.shards.get(partition) is not shard:
            return
        if why is not None:
            self.failures[partition] = why
            return  # bytes that cannot be read will not get better

        def reload() -> None:
            if self.shards.get(partition) is shard:
                self.lead(partition, shard.leader_epoch, log)

        self._clock.call_at(later(self._clock.now(), RELOAD_AFTER_MS), reload)
