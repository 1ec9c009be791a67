"""The record types of `__consumer_offsets`, in Kafka's schemas (formats/coordinators 2).

    key    i16 record type, then the key's fields (never flexible)
    value  i16 version, then the value's fields; a null value is a tombstone

In memory a record is a pair `(key, value)`; `None` is a tombstone's value. Types 9 and 18
do not exist.
"""

from typing import Any, Final

from kafkapy.group.records.classic import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from kafkapy.group.records.consumer import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    OwnedPartitions,
    TargetPartitions,
)
from kafkapy.group.records.offsets import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from kafkapy.group.records.share import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMetadataKey,
)
from kafkapy.group.records.streams import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMetadataKey,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTopologyKey,
)

__all__ = [
    "KEY_CLASSES",
    "SHARE_KEYS",
    "STREAMS_KEYS",
    "ClassicMemberMetadata",
    "ClassicProtocol",
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataKey",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "GroupMetadataKey",
    "GroupMetadataValue",
    "LegacyOffsetCommitKey",
    "LegacyOffsetCommitValue",
    "MemberMetadata",
    "OffsetCommitKey",
    "OffsetCommitValue",
    "OwnedPartitions",
    "Pair",
    "TargetPartitions",
    "written_version",
]

Pair = tuple[Any, Any | None]

SHARE_KEYS: Final[tuple[type[Any], ...]] = (
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupStatePartitionMetadataKey,
)
STREAMS_KEYS: Final[tuple[type[Any], ...]] = (
    StreamsGroupMetadataKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupTopologyKey,
)
KEY_CLASSES: Final[tuple[type[Any], ...]] = (
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    GroupMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupCurrentMemberAssignmentKey,
    *SHARE_KEYS,
    ConsumerGroupRegularExpressionKey,
    *STREAMS_KEYS,
)


def written_version(record: Pair) -> int:
    """Which version of its value Kafka 4.3 writes: an expire time exists in 1 only."""
    _, value = record
    match value:
        case OffsetCommitValue():
            return 4 if value.expire_timestamp == -1 else 1
        case GroupMetadataValue():
            return 3
    return 0
