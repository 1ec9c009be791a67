"""The control records of the metadata quorum: who leads, who votes, where a snapshot ends.

They travel in control batches with the key `i16 0, i16 type`; the value is the bare
message, whose first field is its version. formats/records 4, formats/metadata 4.
"""

from collections.abc import Sequence
from typing import ClassVar, Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes
from kafkapy.core.time import Instant
from kafkapy.protocol.batches.batch import NewRecord, Record, build_batch, records
from kafkapy.protocol.batches.control_records import ControlRecordType, control_key, control_type
from kafkapy.protocol.schemas import schema
from kafkapy.protocol.schemas.codec import decoder, encoder


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterId:
    __flexible_since__: ClassVar[int] = 0
    voter_id: int = schema.int32()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange:
    """The first record of every leader epoch."""

    __flexible_since__: ClassVar[int] = 0
    version: int = schema.int16(default=0)
    leader_id: int = schema.int32()
    voters: tuple[VoterId, ...] = schema.array(VoterId)
    granting_voters: tuple[VoterId, ...] = schema.array(VoterId)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotHeader:
    __flexible_since__: ClassVar[int] = 0
    version: int = schema.int16(default=0)
    last_contained_log_timestamp: int = schema.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFooter:
    __flexible_since__: ClassVar[int] = 0
    version: int = schema.int16(default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersion:
    """1: the voters are in the log (KIP-853); 0: they are in the configuration."""

    __flexible_since__: ClassVar[int] = 0
    version: int = schema.int16(default=0)
    k_raft_version: int = schema.int16()


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterEndpoint:
    __flexible_since__: ClassVar[int] = 0
    name: str = schema.string()
    host: str = schema.string()
    port: int = schema.uint16()


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionRange:
    __flexible_since__: ClassVar[int] = 0
    min_supported_version: int = schema.int16()
    max_supported_version: int = schema.int16()


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterEntry:
    __flexible_since__: ClassVar[int] = 0
    voter_id: int = schema.int32()
    voter_directory_id: UUID | None = schema.uuid()
    endpoints: tuple[VoterEndpoint, ...] = schema.array(VoterEndpoint)
    k_raft_version_feature: KRaftVersionRange = schema.struct()


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVoters:
    __flexible_since__: ClassVar[int] = 0
    version: int = schema.int16(default=0)
    voters: tuple[VoterEntry, ...] = schema.array(VoterEntry)


ControlRecord = LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | KRaftVoters

_CLASSES: Final[dict[ControlRecordType, type[ControlRecord]]] = {
    ControlRecordType.LEADER_CHANGE: LeaderChange,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeader,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooter,
    ControlRecordType.KRAFT_VERSION: KRaftVersion,
    ControlRecordType.KRAFT_VOTERS: KRaftVoters,
}
_TYPES: Final[dict[type, ControlRecordType]] = {record: kind for kind, record in _CLASSES.items()}


def encode_control(record: ControlRecord) -> tuple[bytes, bytes]:
    """Key and value."""
    schema_of: type = type(record)
    return control_key(_TYPES[schema_of]), encoder(schema_of, record.version)(record)


def decode_control(record: Record) -> ControlRecord | None:
    """None for control records that mean nothing to the quorum."""
    schema_of: type | None = _CLASSES.get(control_type(record.key))
    if schema_of is None:
        return None
    if record.value is None:
        raise Corrupt(f"control record at {record.offset} has no value")
    # Fields that a later version appends are behind those we know.
    decoded: ControlRecord = decoder(schema_of, 0)(record.value, 0)[0]
    return decoded


def control_records(batch: Bytes) -> list[tuple[int, ControlRecord]]:
    """(offset, record) of each control record of one whole control batch."""
    decoded = ((record.offset, decode_control(record)) for record in records(batch))
    return [(offset, record) for offset, record in decoded if record is not None]


def build_control_batch(
    control: Sequence[ControlRecord], *, base_offset: int, leader_epoch: int, now: Instant
) -> bytes:
    encoded = [encode_control(record) for record in control]
    return build_batch(
        [NewRecord(key=key, value=value, timestamp=now) for key, value in encoded],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        is_control=True,
    )
