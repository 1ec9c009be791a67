"""Metadata records to bytes and back, and the version that is written at a metadata.version.

    uvarint frame version (1) | uvarint api key | uvarint record version | body

Anything else than exactly one such frame is `Corrupt`. formats/metadata 1 and 3.
"""

from functools import cache
from typing import Any, Final

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.records.metadata import (
    RECORDS,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from kafkapy.protocol.schemas.codec import Decoder, Encoder, decoder, encoder

FRAME_VERSION: Final = 1

_BY_API_KEY: Final[dict[int, type[MetadataRecord]]] = {
    record.__api_key__: record for record in RECORDS
}

# Highest version of each record that has more than one.
_HIGHEST_VERSION: Final[dict[type[MetadataRecord], int]] = {
    RegisterBrokerRecord: 4,
    PartitionRecord: 2,
    PartitionChangeRecord: 2,
    BrokerRegistrationChangeRecord: 3,
}

# (from this metadata.version on, write this version), highest first.
_BY_LEVEL: Final[dict[type[MetadataRecord], tuple[tuple[int, int], ...]]] = {
    RegisterBrokerRecord: ((30, 4), (17, 3), (8, 2), (0, 1)),
    PartitionRecord: ((23, 2), (17, 1), (0, 0)),
    PartitionChangeRecord: ((23, 2), (17, 1), (0, 0)),
}


def version_to_write(record: MetadataRecord, metadata_version: int) -> int:
    if isinstance(record, BrokerRegistrationChangeRecord):
        return _change_version(record)
    for level, version in _BY_LEVEL.get(type(record), ()):
        if metadata_version >= level:
            return version
    return 0


def encode_record(record: MetadataRecord, version: int) -> bytes:
    """`record` framed, as the given version of its schema."""
    schema: type = type(record)
    head, encode = _writer(schema, version)
    return head + encode(record)


def decode_record(frame: bytes | memoryview) -> MetadataRecord:
    return decode_versioned(frame)[0]


def decode_versioned(frame: bytes | memoryview) -> tuple[MetadataRecord, int]:
    """The record and the version it was written in."""
    frame_version, position = _read_uvarint(frame, 0)
    if frame_version != FRAME_VERSION:
        raise Corrupt(f"metadata record with frame version {frame_version}")
    api_key, position = _read_uvarint(frame, position)
    version, position = _read_uvarint(frame, position)
    record, size = _reader(api_key, version)(frame, position)
    if position + size != len(frame):
        raise Corrupt(f"{len(frame) - position - size} bytes too many after {record}")
    return record, version


def _change_version(record: BrokerRegistrationChangeRecord) -> int:
    """Kafka writes the lowest version that can say it, whatever the level."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0


@cache
def _writer(schema: Any, version: int) -> tuple[bytes, Encoder]:
    assert 0 <= version <= _HIGHEST_VERSION.get(schema, 0), (schema, version)
    head = bytes((FRAME_VERSION, schema.__api_key__, version))
    return head, encoder(schema, version)


@cache
def _reader(api_key: int, version: int) -> Decoder:
    schema: Any = _BY_API_KEY.get(api_key)
    if schema is None or version > _HIGHEST_VERSION.get(schema, 0):
        raise Corrupt(f"unknown metadata record: api key {api_key}, version {version}")
    return decoder(schema, version)


def _read_uvarint(frame: bytes | memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(frame):
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise Corrupt("metadata record ends within its frame")
