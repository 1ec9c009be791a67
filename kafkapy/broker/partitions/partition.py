"""One partition as this node plays it: leader or follower over a PartitionLog.

    append --> [flush, if the topic asks for it] --> high watermark --> acknowledgements
          \\-> followers that wait                                   \\-> parked fetches

The high watermark is what consumers may see and what acks=all waits for. On a leader it is
the smallest end offset over the in-sync replicas (replication/followers.py); this node's own
end offset counts once it is as durable as the topic demands (flush.messages). KIP-966: it does
not advance while fewer than min.insync.replicas are in sync. A follower appends what its leader
has, as it is, and is told of the high watermark.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from kafkapy.broker.metadata.internal_topics import INTERNAL_TOPICS
from kafkapy.broker.partitions.acknowledgements import Acknowledge, Acknowledgements
from kafkapy.broker.partitions.needs import HasHook, HasReplicas
from kafkapy.broker.partitions.watchers import EndWatcher, Watcher
from kafkapy.broker.replication.followers import Followers
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.seams import Bytes, Callback
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.partitions.isr import PartitionAgreed
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.log.append import AppendInfo, Origin
from kafkapy.log.config import FOREVER_MS
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.guards import VerificationGuard

# Answers of the controller after which the proposal is not so, and will not be.
_NOT_SO = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)


class Partition:
    """What handlers ask and tell about one partition that lives on this node."""

    __slots__ = (
        "_acks",
        "_node_id",
        "_offline",
        "_replication",
        "_unflushed",
        "_unseen_bytes",
        "bytes_in",
        "bytes_out",
        "disk_failed",
        "end_watchers",
        "followers",
        "hook",
        "is_written_at_once",
        "isr",
        "leader",
        "leader_epoch",
        "leader_epoch_start",
        "log",
        "partition_epoch",
        "replicas",
        "start_watchers",
        "topic_id",
        "topic_partition",
        "watchers",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: UUID,
        node_id: int,
        log: PartitionLog,
        disk_failed: Callable[[DiskFailed], None],
        replication: HasReplicas,
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.leader: int = NO_NODE
        self.leader_epoch = -1
        self.leader_epoch_start = -1
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.watchers: dict[Watcher, int] = {}  # of the high watermark, with their marks
        self.end_watchers: dict[EndWatcher, int] = {}  # of the log's end: followers
        # What clients have written, and consumers been given, in this life of the process.
        self.bytes_in = 0
        self.bytes_out = 0
        self.start_watchers: list[Callback] = []  # of where replicas' logs begin: DeleteRecords
        # While this node leads it and its topic has one: what clients send goes there first.
        self.hook: HasHook | None = None
        self.followers: Followers | None = None  # while this node leads it and others follow
        self._replication = replication
        # Writing is all that an acknowledgement waits for, whatever `acks` is: kept up to date
        # by `_changed`.
        self.is_written_at_once = False
        self._node_id = node_id
        self.disk_failed = disk_failed
        self._offline = False
        self._unseen_bytes = 0
        self._acks = Acknowledgements()
        self._unflushed: list[tuple[int, Acknowledge]] = []  # acks=1, once the disk has it

    # --- role ---

    @property
    def is_leader(self) -> bool:
        return self.leader == self._node_id and not self._offline

    @property
    def is_offline(self) -> bool:
        return self._offline

    @property
    def is_internal(self) -> bool:
        """Written by this node's own coordinators, not by clients."""
        return self.topic_partition.topic in INTERNAL_TOPICS

    def follow_metadata(self, state: PartitionState) -> bool:
        """Take the role the metadata gives; True if this node's leadership has changed."""
        if state.partition_epoch <= self.partition_epoch:
            return False
        was_leader, old_epoch = self.is_leader, self.leader_epoch
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = tuple(state.replicas)
        self.isr = tuple(state.isr)
        is_new = old_epoch != self.leader_epoch
        if self.is_leader and is_new:
            # Even without data (formats/replication 4).
            self.leader_epoch_start = self.log.log_end_offset
            self.log.assign_epoch(self.leader_epoch, self.log.log_end_offset)
        self._settle_followers(is_new)
        self._changed()
        if not self.is_leader:
            self._fail_acks(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            self._wake(0)
        else:
            self._count_appended()
        return was_leader != self.is_leader or is_new

    def _settle_followers(self, is_new: bool) -> None:
        """The metadata has spoken: what was proposed came to be or did not."""
        if self.followers is not None:
            self._replication.withdraw(self)
        if not self.is_leader or len(self.replicas) < 2:
            self.followers = None
        elif self.followers is None or is_new:
            replication = self._replication
            self.followers = Followers(
                self._node_id,
                self.replicas,
                self.isr,
                now=replication.clock.now(),
                max_lag_ms=replication.max_lag_ms,
                is_eligible=replication.is_eligible,
            )
            replication.led_anew(self)
        else:
            self._replication.left(self, self.followers.settled(self.replicas, self.isr))
            self._admit_any()
        self._tell_of_start()

    def go_offline(self) -> None:
        """Its log directory failed: nothing is acknowledged any more, readers are told."""
        self._offline = True
        self._leave_followers()
        self._changed()
        self._fail_acks(ErrorCode.KAFKA_STORAGE_ERROR)
        self._wake(0)

    def retire(self) -> None:
        """The topic was deleted, or this node is no replica any more."""
        self.leader = NO_NODE
        self.replicas = ()
        self._leave_followers()
        self._changed()
        self._fail_acks(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._wake(0)

    def _leave_followers(self) -> None:
        if self.followers is not None:
            self._replication.withdraw(self)
            self.followers = None
        self._tell_of_start()

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse unless this node leads the partition in the epoch the client knows."""
        if self._offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        self.check_epoch(current_leader_epoch)
        if self.leader != self._node_id:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_readable(self, current_leader_epoch: int) -> None:
        """Refuse unless a consumer in that epoch may read here, of a follower too (KIP-392)."""
        if self._offline:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        self.check_epoch(current_leader_epoch)
        if self._node_id not in self.replicas:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_epoch(self, current_leader_epoch: int) -> None:
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return
        if current_leader_epoch < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH)
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)

    # --- append ---

    def append(
        self,
        records: memoryview,
        *,
        origin: Origin = Origin.CLIENT,
        needs_all: bool = False,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
        now: Instant | None = None,
    ) -> AppendInfo:
        """Append as leader. Unless `is_written_at_once`, follow with `when_durable` or
        `when_committed` to acknowledge. `now`: see PartitionLog."""
        at_once = self.is_written_at_once
        if needs_all and not at_once and len(self.isr) < self.min_insync_replicas:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {list(self.isr)} is insufficient to satisfy the "
                f"min.isr requirement of {self.min_insync_replicas} for partition "
                f"{self.topic_partition}",
            )
        log = self.log
        info = log.append_as_leader(
            records, self.leader_epoch, origin, transaction_version, guard, now
        )
        self.bytes_in += len(records)
        if not at_once:
            if not info.is_duplicate:
                self._unseen_bytes += len(records)
                if self.end_watchers:
                    self._tell(self.end_watchers, len(records))
            self._count_appended()
        elif not info.is_duplicate:
            log.advance_high_watermark(info.last_offset + 1)
            if self.watchers:
                self._wake(len(records))
        return info

    def when_committed(self, end_offset: int, then: Acknowledge) -> None:
        """acks=all: `then` once every in-sync replica has everything below `end_offset`."""
        if self.log.high_watermark >= end_offset:
            then(self._committed_code())
        else:
            self._acks.add(end_offset, then)

    def when_durable(self, end_offset: int, then: Acknowledge) -> None:
        """acks=1: at once, unless the topic wants the disk to have it first."""
        if self.log.needs_flush_before_ack and self.log.flushed_offset < end_offset:
            # It has been asked for; one serves all that arrived meanwhile.
            self._unflushed.append((end_offset, then))
        else:
            then(ErrorCode.NONE)

    def forget_ack(self, then: Acknowledge) -> None:
        """The request's time is up; nobody waits for this acknowledgement any more."""
        self._unflushed = [waiting for waiting in self._unflushed if waiting[1] is not then]
        self._acks.forget(then)

    @property
    def min_insync_replicas(self) -> int:
        """A topic with fewer replicas than it demands in sync is still writable (KIP-966)."""
        return max(1, min(self.log.config.min_insync_replicas, len(self.replicas)))

    def use(self, log: PartitionLog) -> None:
        """The same records in another directory: what those files still had to do for the
        acknowledgements that wait, these do."""
        self.log = log
        self._changed()
        if self.is_leader:
            self._count_appended()

    def reconfigured(self) -> None:
        """The topic's settings have changed: perhaps now the disk must have it first, or
        need not."""
        self._changed()
        if self.is_leader:
            self._count_appended()

    def use_hook(self, hook: HasHook | None) -> None:
        self.hook = hook
        self._changed()

    def _changed(self) -> None:
        """The role, the log or its settings."""
        self.is_written_at_once = (
            self.is_leader
            and self.hook is None
            and self.followers is None
            and self.isr == (self._node_id,)
            and self.min_insync_replicas == 1
            and self.log.config.flush_messages == FOREVER_MS
        )

    # --- in-sync replicas ---

    def follower_fetched(
        self, replica: int, offset: int, log_start: int, broker_epoch: int, now: Instant
    ) -> None:
        """A follower has everything below `offset`, of this leader's own history: the epochs
        were compared before. Refused if it is none of ours."""
        followers = self.followers
        if followers is None:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = self.log
        end = log.log_end_offset
        followers.fetched(replica, offset, log_start, end, broker_epoch, now)
        self.admit(replica)
        self._advance_high_watermark()
        if self.start_watchers:
            self._tell_of_start()

    def follower_lives(self, replica: int, broker_epoch: int) -> None:
        """It left those in sync and fetches on: nothing has changed for it here."""
        if self.followers is not None:
            self.followers.lives(replica, broker_epoch)
            self.admit(replica)

    def knows_follower(self, replica: int) -> bool:
        """Whether it is a replica, as far as this leader has heard."""
        return self.followers is not None and replica in self.followers.progress

    def admit(self, replica: int) -> None:
        """It has fetched, or the metadata has it alive: perhaps it is to join those in sync."""
        followers = self.followers
        if followers is None or followers.is_asking or replica not in followers.progress:
            return
        if followers.joining(replica, self.log.high_watermark, self.leader_epoch_start):
            self._propose(followers, (*followers.agreed, replica))

    def _admit_any(self) -> None:
        for replica in () if self.followers is None else tuple(self.followers.progress):
            self.admit(replica)

    def follower_was_caught_up(self, replica: int, at: Instant) -> None:
        """Its session had nothing to tell it when it fetched last; now there is something."""
        if self.followers is not None:
            self.followers.was_caught_up(replica, at)

    def begin_later(self, offset: int) -> None:
        """Nothing below `offset` is readable any more (DeleteRecords). Refused above the high
        watermark."""
        if self.log.advance_log_start_offset(offset):
            for watcher, mark in self.end_watchers.items():
                watcher.on_offsets(mark)

    @property
    def low_watermark(self) -> int:
        """Below it no replica that is there has anything."""
        start = self.log.log_start_offset
        return start if self.followers is None else self.followers.lowest_log_start(start)

    def _tell_of_start(self) -> None:
        for heard in tuple(self.start_watchers):
            heard()

    def drop_lagging(self, now: Instant) -> None:
        """Who has not kept pace for replica.lag.time.max.ms is to leave the in-sync replicas."""
        followers = self.followers
        if followers is None or followers.is_asking:
            return
        lagging = followers.lagging(self.log.log_end_offset, now)
        if lagging:
            self._propose(followers, tuple(one for one in followers.agreed if one not in lagging))

    def _propose(self, followers: Followers, isr: Iterable[int]) -> None:
        isr = tuple(isr)
        followers.propose(isr)
        self._replication.propose(self, isr, partial(self._isr_answered, followers))

    def _isr_answered(
        self, followers: Followers, verdict: "PartitionState | PartitionAgreed | Refused"
    ) -> None:
        if self.followers is not followers:
            return  # of an epoch that is over
        if isinstance(verdict, Refused):
            # Else somebody knows better: the metadata will say, and both count until then.
            if verdict.code in _NOT_SO:
                self._replication.left(self, followers.refused())
        elif (
            verdict.leader_epoch == self.leader_epoch
            and verdict.leader == self.leader
            and verdict.partition_epoch >= self.partition_epoch
        ):
            self.partition_epoch = verdict.partition_epoch
            self.isr = tuple(verdict.isr)
            self._replication.left(self, followers.settled(self.replicas, self.isr))
            self._changed()
        self._count_appended()
        self._admit_any()  # whoever was ready while the controller was asked

    # --- as a follower ---

    def append_from_leader(
        self, records: "Bytes | None", high_watermark: int, log_start: int
    ) -> None:
        """What a fetch brought: batches as the leader has them, and what it says of its log.
        Corrupt if they do not continue ours, DiskFailed."""
        log = self.log
        if records:
            log.append_as_follower(memoryview(records))
        before = log.high_watermark
        log.advance_high_watermark(high_watermark)
        if log_start > log.log_start_offset:
            # The leader's start is not above its high watermark; ours follows with the next.
            log.advance_log_start_offset(min(log_start, log.high_watermark))
        if self.watchers and log.high_watermark > before:
            self._wake(len(records or b"") or 1)

    def truncate_to(self, offset: int) -> None:
        """The leader has another history from there on."""
        self.log.truncate_to(offset)

    def begin_at(self, offset: int) -> None:
        """The leader has nothing before that any more."""
        self.log.truncate_fully_and_start_at(offset)

    # --- the high watermark ---

    def _count_appended(self) -> None:
        """What is in the log counts, as soon as it is as durable as the topic demands; that
        may be the work of a process that was killed before its flush."""
        log = self.log
        if log.needs_flush_before_ack:
            log.flush(partial(self._on_flushed, log))
        else:
            self._advance_high_watermark()

    def _on_flushed(self, log: PartitionLog, failed: DiskFailed | None) -> None:
        if failed is None:
            flushed_offset = self.log.flushed_offset
            waiting, self._unflushed = self._unflushed, []
            for end_offset, then in waiting:
                if end_offset <= flushed_offset:
                    then(ErrorCode.NONE)
                else:
                    self._unflushed.append((end_offset, then))
            self._advance_high_watermark()
        elif not log.is_closed:  # deleted or moved meanwhile, it has nothing to lose
            # Never tried again: the kernel may have dropped what it could not write.
            self.disk_failed(failed)

    def _advance_high_watermark(self) -> None:
        if not self.is_leader or len(self.isr) < self.min_insync_replicas:
            return
        log = self.log
        end = log.flushed_offset if log.needs_flush_before_ack else log.log_end_offset
        if self.followers is not None:
            end = self.followers.committed_end(end, self._replication.clock.now())
        elif self.isr != (self._node_id,):
            return
        if end > log.high_watermark:
            log.advance_high_watermark(end)
            if self._acks:
                self._acknowledge_up_to(end)
            if self.watchers:
                self._wake(self._unseen_bytes)
            self._unseen_bytes = 0
            for watcher, mark in self.end_watchers.items():
                watcher.on_offsets(mark)

    def _acknowledge_up_to(self, high_watermark: int) -> None:
        code = self._committed_code()
        for then in self._acks.take_up_to(high_watermark):
            then(code)

    def _committed_code(self) -> ErrorCode:
        if len(self.isr) < self.min_insync_replicas:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    def _fail_acks(self, code: ErrorCode) -> None:
        unflushed, self._unflushed = self._unflushed, []
        for then in self._acks.take_all():
            then(code)
        for _, then in unflushed:
            then(code)

    def _wake(self, count_bytes: int) -> None:
        """Whoever waits for the high watermark; 0: everybody, the role has changed."""
        self._tell(self.watchers, count_bytes)
        if not count_bytes:
            self._tell(self.end_watchers, 0)

    @staticmethod
    def _tell(watchers: "Mapping[Any, int]", count_bytes: int) -> None:
        for watcher, mark in tuple(watchers.items()):
            watcher.on_more(mark, count_bytes)
