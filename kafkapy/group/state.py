"""The state of one shard: its groups and what they committed. `apply` is the only writer.

OffsetCommit (1)           offsets; creates a simple group if there is none
GroupMetadata (2)          a classic group
3-8, 16                    a consumer group
10-15                      a share group
17, 19-23                  a streams group
Transactional(record)      offsets that count when the producer's transaction commits
TransactionEnded           that moment
notes                      what does not survive the leader
"""

from dataclasses import field
from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.core.ids import TopicPartition
from kafkapy.core.step import Transactional, TransactionEnded
from kafkapy.core.time import Instant
from kafkapy.group.classic.group import ClassicGroup, ClassicGroupStands, empty_group
from kafkapy.group.classic.stored import group_from
from kafkapy.group.consumer.group import ConsumerGroup, RefreshWanted, RegexLooked, ToldToRejoin
from kafkapy.group.offsets.events import DeletedTopic
from kafkapy.group.offsets.store import OffsetStore
from kafkapy.group.records import (
    SHARE_KEYS,
    STREAMS_KEYS,
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
    Pair,
)
from kafkapy.group.records.share import ShareGroupMetadataKey
from kafkapy.group.records.streams import StreamsGroupMetadataKey
from kafkapy.group.share.group import (
    DeletionAsked,
    InitializationAsked,
    ShareGroup,
    ShareRefreshWanted,
)
from kafkapy.group.streams.group import STREAMS_NOTES, StreamsGroup

Group = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup


@dataclass(frozen=True, slots=True)
class TopicsToForget:
    """Note: deleted topics that groups still know of. A round goes through all groups, for
    `of_round`; those that are deleted meanwhile, and those of `held`, wait for the next."""

    waiting: tuple[DeletedTopic, ...] = ()
    of_round: tuple[DeletedTopic, ...] = ()
    # Groups that the round has not come to.
    group_ids: tuple[str, ...] = ()
    # Names of topics whose offsets have to wait for the end of a transaction.
    held: frozenset[str] = frozenset()
    # It is in the midst of the last group: of these it has looked at `looked_at`.
    partitions: tuple[TopicPartition, ...] = ()
    looked_at: int = 0


@dataclass(frozen=True, slots=True)
class GroupsToExpire:
    """Note: groups that the running check for expired offsets has not come to. It is in the
    midst of the last one: of its `partitions` it has looked at `looked_at`."""

    group_ids: tuple[str, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    looked_at: int = 0


@dataclass(slots=True)
class GroupState:
    groups: dict[str, Group] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    topics_to_forget: TopicsToForget = TopicsToForget()
    groups_to_expire: GroupsToExpire = GroupsToExpire()

    def apply(self, record: Any) -> None:
        match record:
            case (key, value):
                self._apply_pair(key, value)
            case Transactional(producer_id=producer_id, record=inner):
                self._apply_transactional(producer_id, inner)
            case TransactionEnded(producer_id=producer_id, is_committed=is_committed):
                self.offsets.end_transaction(producer_id, is_committed)
            case ClassicGroupStands(group):
                self.groups[group.group_id] = group
            case RefreshWanted() | RegexLooked() | ToldToRejoin():
                noted = self.groups.get(record.group_id)
                if isinstance(noted, ConsumerGroup):
                    noted.note(record)
            case ShareRefreshWanted() | InitializationAsked() | DeletionAsked():
                sharing = self.groups.get(record.group_id)
                if isinstance(sharing, ShareGroup):
                    sharing.note(record)
            case _ if isinstance(record, STREAMS_NOTES):
                streaming = self.groups.get(record.group_id)
                if isinstance(streaming, StreamsGroup):
                    streaming.note(record)
            case TopicsToForget():
                self.topics_to_forget = record
            case GroupsToExpire():
                self.groups_to_expire = record
            case _:
                raise AssertionError(("unknown record", record))

    def _apply_pair(self, key: Any, value: Any) -> None:
        match key:
            case OffsetCommitKey():
                self._commit((key, value), None)
            case GroupMetadataKey():
                self._apply_classic(key.group, value)
            case LegacyOffsetCommitKey():
                self._commit(_modern(key, value), None)
            case _:
                if isinstance(key, SHARE_KEYS):
                    self._apply_share((key, value))
                elif isinstance(key, STREAMS_KEYS):
                    self._apply_streams((key, value))
                else:
                    self._apply_consumer((key, value))

    def _apply_transactional(self, producer_id: int, record: Pair) -> None:
        key, _ = record
        if isinstance(key, OffsetCommitKey):
            self._commit(record, producer_id)
        else:
            self.apply(record)

    def _commit(self, record: Pair, producer_id: int | None) -> None:
        key, value = record
        if value is not None and key.group not in self.groups:
            # Somebody commits without being a member: a group that is always empty.
            self.groups[key.group] = empty_group(key.group, Instant(value.commit_timestamp))
        self.offsets.commit(record, producer_id)

    def _apply_classic(self, group_id: str, value: Any) -> None:
        if value is not None:
            self.groups[group_id] = group_from(group_id, value)
        elif isinstance(self.groups.get(group_id), ClassicGroup):
            del self.groups[group_id]

    def _apply_consumer(self, record: Pair) -> None:
        key, value = record
        group = self.groups.get(key.group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return  # what it took away is compacted already
            group = self.groups[key.group_id] = ConsumerGroup(key.group_id)
        if value is None and isinstance(key, ConsumerGroupMetadataKey):
            del self.groups[key.group_id]
        else:
            group.apply(record)

    def _apply_share(self, record: Pair) -> None:
        key, value = record
        group = self.groups.get(key.group_id)
        if not isinstance(group, ShareGroup):
            if value is None:
                return
            group = self.groups[key.group_id] = ShareGroup(key.group_id)
        if value is None and isinstance(key, ShareGroupMetadataKey):
            del self.groups[key.group_id]
        else:
            group.apply(record)

    def _apply_streams(self, record: Pair) -> None:
        key, value = record
        group = self.groups.get(key.group_id)
        if not isinstance(group, StreamsGroup):
            if value is None:
                return
            group = self.groups[key.group_id] = StreamsGroup(key.group_id)
        if value is None and isinstance(key, StreamsGroupMetadataKey):
            del self.groups[key.group_id]
        else:
            group.apply(record)


def _modern(key: LegacyOffsetCommitKey, value: Any) -> Pair:
    modern_key = OffsetCommitKey(group=key.group, topic=key.topic, partition=key.partition)
    if value is None:
        return modern_key, None
    return modern_key, OffsetCommitValue(
        offset=value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
    )
