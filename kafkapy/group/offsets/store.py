"""What groups have committed, and what open transactions may yet commit.

    commit in a transaction --> pending[producer][group] --marker--> committed[group]
    any other commit        ---------------------------------------> committed[group]

Of two commits for one partition the later in the log wins, also when the earlier was
transactional and its marker comes last: each commit carries its place in that order.
"""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from kafkapy.core.ids import TopicPartition
from kafkapy.group.records import OffsetCommitKey, OffsetCommitValue, Pair

NO_OFFSET = -1
NO_EXPIRY = -1


class Committed(NamedTuple):
    """`order` grows with the place in the log; `expire_timestamp` only by very old clients."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_EXPIRY
    topic_id: UUID | None = None
    order: int = 0


Offsets = dict[TopicPartition, Committed]


class OffsetStore:
    def __init__(self) -> None:
        self._committed: dict[str, Offsets] = {}
        self._pending: dict[int, dict[str, Offsets]] = {}
        self._open: dict[str, set[int]] = {}
        self._order = 0

    # Reading

    def of_group(self, group_id: str) -> Offsets:
        return self._committed.get(group_id, {})

    def get(self, group_id: str, partition: TopicPartition) -> Committed | None:
        return self.of_group(group_id).get(partition)

    def groups(self) -> Iterator[str]:
        return iter(self._committed)

    def count(self) -> int:
        return sum(map(len, self._committed.values()))

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._open

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether an open transaction may change what is committed there."""
        producers = self._open.get(group_id)
        return producers is not None and any(
            partition in self._pending[producer].get(group_id, ()) for producer in producers
        )

    def pending(self, group_id: str, partition: TopicPartition) -> Iterator[Committed]:
        """What open transactions may yet commit there."""
        for producer in self._open.get(group_id, ()):
            found = self._pending[producer].get(group_id, {}).get(partition)
            if found is not None:
                yield found

    def known_partitions(self, group_id: str) -> list[TopicPartition]:
        """Committed or pending, each once."""
        known = dict.fromkeys(self.of_group(group_id))
        for producer in self._open.get(group_id, ()):
            known.update(dict.fromkeys(self._pending[producer].get(group_id, ())))
        return list(known)

    # Writing

    def commit(self, record: Pair, producer_id: int | None = None) -> None:
        """One OffsetCommit record, at once or when the producer's transaction commits."""
        key, value = record
        partition = TopicPartition(key.topic, key.partition)
        if value is None:
            self._forget(key.group, partition)
            return
        self._order += 1
        committed = Committed(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            self._order,
        )
        if producer_id is None:
            self._committed.setdefault(key.group, {})[partition] = committed
        else:
            groups = self._pending.setdefault(producer_id, {})
            groups.setdefault(key.group, {})[partition] = committed
            self._open.setdefault(key.group, set()).add(producer_id)

    def end_transaction(self, producer_id: int, is_committed: bool) -> None:
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            self._close(group_id, producer_id)
            if not is_committed:
                continue
            committed = self._committed.setdefault(group_id, {})
            for partition, offset in offsets.items():
                standing = committed.get(partition)
                if standing is None or standing.order < offset.order:
                    committed[partition] = offset
            if not committed:
                del self._committed[group_id]

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        """A tombstone takes pending commits along: whoever deletes means those too."""
        committed = self._committed.get(group_id)
        if committed is not None:
            committed.pop(partition, None)
            if not committed:
                del self._committed[group_id]
        for producer_id in self._open.get(group_id, ()):
            pending = self._pending[producer_id].get(group_id)
            if pending is not None:
                pending.pop(partition, None)

    def _close(self, group_id: str, producer_id: int) -> None:
        producers = self._open.get(group_id, set())
        producers.discard(producer_id)
        if not producers:
            self._open.pop(group_id, None)


def commit_record(group_id: str, partition: TopicPartition, committed: Committed) -> Pair:
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp,
        expire_timestamp=committed.expire_timestamp,
        topic_id=committed.topic_id,
    )
    return key, value


def offset_tombstone(group_id: str, partition: TopicPartition) -> Pair:
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return key, None
