"""Record types 10 to 15: share groups (KIP-932)."""

from typing import ClassVar
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.group.records.consumer import TargetPartitions
from kafkapy.protocol.schemas.schema import array, int8, int32, int64, string, uuid

_V0 = range(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataValue:
    rack_id: str | None = string()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array("string")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 10
    __value_type__: ClassVar[type] = ShareGroupMemberMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataValue:
    epoch: int = int32()
    metadata_hash: int = int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 11
    __value_type__: ClassVar[type] = ShareGroupMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 12
    __value_type__: ClassVar[type] = ShareGroupTargetAssignmentMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberValue:
    topic_partitions: tuple[TargetPartitions, ...] = array(TargetPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 13
    __value_type__: ClassVar[type] = ShareGroupTargetAssignmentMemberValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentValue:
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: tuple[TargetPartitions, ...] = array(TargetPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 14
    __value_type__: ClassVar[type] = ShareGroupCurrentMemberAssignmentValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsInfo:
    topic_id: UUID | None = uuid()
    topic_name: str = string()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletingTopic:
    topic_id: UUID | None = uuid()
    topic_name: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataValue:
    initializing_topics: tuple[TopicPartitionsInfo, ...] = array(TopicPartitionsInfo)
    initialized_topics: tuple[TopicPartitionsInfo, ...] = array(TopicPartitionsInfo)
    deleting_topics: tuple[DeletingTopic, ...] = array(DeletingTopic)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 15
    __value_type__: ClassVar[type] = ShareGroupStatePartitionMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
