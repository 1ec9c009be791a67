"""Record types 0 and 1: a group's committed offset in one partition."""

from typing import ClassVar
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.protocol.schemas.schema import int32, int64, string, uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitValue:
    __flexible_since__: ClassVar[int] = 1

    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue:
    __flexible_since__: ClassVar[int] = 4

    offset: int = int64()
    leader_epoch: int = int32(since=3, default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(since=1, until=1, default=-1)
    topic_id: UUID | None = uuid(since=4, tag=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyOffsetCommitKey:
    """Read only: what Kafka wrote before 0.9."""

    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 0
    __value_type__: ClassVar[type] = LegacyOffsetCommitValue
    __value_versions__: ClassVar[range] = range(1)

    group: str = string()
    topic: str = string()
    partition: int = int32()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 1
    __value_type__: ClassVar[type] = OffsetCommitValue
    __value_versions__: ClassVar[range] = range(5)

    group: str = string()
    topic: str = string()
    partition: int = int32()
