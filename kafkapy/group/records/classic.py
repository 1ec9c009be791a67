"""Record type 2: a whole classic group, written when a generation is complete."""

from typing import ClassVar

from kafkapy.core.data import dataclass
from kafkapy.protocol.schemas.schema import array, byte_string, int32, int64, string


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """`subscription` is of the selected protocol only; `assignment` is what Sync gave."""

    member_id: str = string()
    group_instance_id: str | None = string(since=3, default=None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(since=1, default=-1)
    session_timeout: int = int32()
    subscription: bytes = byte_string()
    assignment: bytes = byte_string()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    __flexible_since__: ClassVar[int] = 4

    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string()
    leader: str | None = string()
    current_state_timestamp: int = int64(since=2, default=-1)
    members: tuple[MemberMetadata, ...] = array(MemberMetadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataKey:
    __flexible_since__: ClassVar[int] = 1
    __record_type__: ClassVar[int] = 2
    __value_type__: ClassVar[type] = GroupMetadataValue
    __value_versions__: ClassVar[range] = range(5)

    group: str = string()
