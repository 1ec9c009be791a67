"""The record types of `__share_group_state` (formats/coordinators 4).

0  ShareSnapshot   all that is known of a share partition; a tombstone: nothing is
1  ShareUpdate     what changed since the snapshot whose epoch it names
"""

from typing import ClassVar
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.protocol.schemas.schema import array, int8, int16, int32, int64, string, uuid

_V0 = range(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBatch:
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSnapshotValue:
    snapshot_epoch: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(tag=0, default=-1)
    create_timestamp: int = int64()
    write_timestamp: int = int64()
    state_batches: tuple[WrittenBatch, ...] = array(WrittenBatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSnapshotKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 0
    __value_type__: ClassVar[type] = ShareSnapshotValue
    __value_versions__: ClassVar[range] = _V0

    group_id: str = string()
    topic_id: UUID | None = uuid()
    partition: int = int32()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareUpdateValue:
    snapshot_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(tag=0, default=-1)
    state_batches: tuple[WrittenBatch, ...] = array(WrittenBatch)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareUpdateKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 1
    __value_type__: ClassVar[type] = ShareUpdateValue
    # An early build of Kafka's wrote 1, with the same layout.
    __value_versions__: ClassVar[range] = range(2)

    group_id: str = string()
    topic_id: UUID | None = uuid()
    partition: int = int32()


KEY_CLASSES = (ShareSnapshotKey, ShareUpdateKey)
