"""Control batches: records that no consumer sees (formats/records 4).

The key is `i16 version, i16 type`. A transaction marker is a batch of one such record,
transactional, with the producer's id and epoch and no sequence; its value is
`i16 version, i32 coordinator epoch`. Later versions may append fields, so readers take
what they know and ignore the rest.
"""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes
from kafkapy.protocol.batches.batch import NewRecord, build_batch, records

_KEY: Final = Struct(">hh")
_MARKER_VALUE: Final = Struct(">hi")
_VERSION: Final = 0


class ControlRecordType(IntEnum):
    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    """What a marker says beyond the producer's id and epoch in its batch header."""

    is_commit: bool
    coordinator_epoch: int


def control_key(kind: ControlRecordType) -> bytes:
    return _KEY.pack(_VERSION, kind)


def control_type(key: bytes | None) -> ControlRecordType:
    """The type of a control record by its key; types of the future read as UNKNOWN."""
    if key is None or len(key) < _KEY.size:
        raise Corrupt("a control record without version and type in its key")
    version, kind = _KEY.unpack_from(key)
    if version < 0:
        raise Corrupt(f"a control record of version {version}")
    try:
        return ControlRecordType(kind)
    except ValueError:
        return ControlRecordType.UNKNOWN


def read_marker(batch: Bytes) -> EndTransactionMarker | None:
    """The marker in a whole control batch; None if the batch was emptied by cleaning, or
    is a control batch of another kind."""
    for record in records(batch):
        kind = control_type(record.key)
        if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return None
        value = record.value
        if value is None or len(value) < _MARKER_VALUE.size:
            raise Corrupt("a transaction marker without a coordinator epoch")
        version, coordinator_epoch = _MARKER_VALUE.unpack_from(value)
        if version < 0:
            raise Corrupt(f"a transaction marker of version {version}")
        return EndTransactionMarker(kind is ControlRecordType.COMMIT, coordinator_epoch)
    return None


def build_marker(
    *,
    is_commit: bool,
    coordinator_epoch: int,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytes:
    """The batch that ends a transaction in one partition."""
    kind = ControlRecordType.COMMIT if is_commit else ControlRecordType.ABORT
    return build_batch(
        [
            NewRecord(
                key=control_key(kind),
                value=_MARKER_VALUE.pack(_VERSION, coordinator_epoch),
                timestamp=timestamp,
            )
        ],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
