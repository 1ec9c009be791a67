"""Record types 3 to 8 and 16: a consumer group of KIP-848.

3  the group's epoch          6  the target assignment's epoch
4  (tombstones only)          7  what a member should own
5  who a member is            8  what a member owns, and at which epoch
                              16 which topics a regular expression stands for
"""

from typing import ClassVar, Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.protocol.schemas.schema import (
    array,
    byte_string,
    int8,
    int32,
    int64,
    string,
    struct,
    uuid,
)

_V0 = range(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue:
    epoch: int = int32()
    metadata_hash: int = int64(tag=0, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 3
    __value_type__: ClassVar[type] = ConsumerGroupMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    partition: int = int32()
    racks: tuple[str, ...] = array("string")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    topic_id: UUID | None = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: tuple[PartitionMetadata, ...] = array(PartitionMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue:
    topics: tuple[TopicMetadata, ...] = array(TopicMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataKey:
    """Written by Kafka 4.0 only; a hash in type 3 took its place."""

    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 4
    __value_type__: ClassVar[type] = ConsumerGroupPartitionMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol:
    name: str = string()
    metadata: bytes = byte_string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata:
    """Of a member that speaks the classic protocol to a consumer group."""

    session_timeout_ms: int = int32()
    supported_protocols: tuple[ClassicProtocol, ...] = array(ClassicProtocol)


# What Apache Kafka's schema says a missing tag stands for (null is written as such).
NO_CLASSIC_PROTOCOLS: Final = ClassicMemberMetadata(session_timeout_ms=0, supported_protocols=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue:
    """`classic_member_metadata` is null for a member that speaks the consumer protocol."""

    instance_id: str | None = string()
    rack_id: str | None = string()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: tuple[str, ...] = array("string")
    subscribed_topic_regex: str | None = string()
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string()
    classic_member_metadata: ClassicMemberMetadata | None = struct(
        tag=0, default=NO_CLASSIC_PROTOCOLS
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 5
    __value_type__: ClassVar[type] = ConsumerGroupMemberMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 6
    __value_type__: ClassVar[type] = ConsumerGroupTargetAssignmentMetadataValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPartitions:
    topic_id: UUID | None = uuid()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue:
    topic_partitions: tuple[TargetPartitions, ...] = array(TargetPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 7
    __value_type__: ClassVar[type] = ConsumerGroupTargetAssignmentMemberValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedPartitions:
    """`assignment_epochs` is parallel to `partitions` (KIP-1251); none: the member's epoch."""

    topic_id: UUID | None = uuid()
    partitions: tuple[int, ...] = array("int32")
    assignment_epochs: tuple[int, ...] | None = array("int32", tag=0, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: tuple[OwnedPartitions, ...] = array(OwnedPartitions)
    partitions_pending_revocation: tuple[OwnedPartitions, ...] = array(OwnedPartitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 8
    __value_type__: ClassVar[type] = ConsumerGroupCurrentMemberAssignmentValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    member_id: str = string()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue:
    """`version` is the metadata offset that was looked at, `timestamp` when."""

    topics: tuple[str, ...] = array("string")
    version: int = int64()
    timestamp: int = int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 16
    __value_type__: ClassVar[type] = ConsumerGroupRegularExpressionValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    regular_expression: str = string()
