"""The `<offset>.snapshot` file: all producers of a partition up to an offset.

    i16 version 1 | u32 CRC-32C of all that follows | i32 entries | entries of 46 bytes

Only the last batch of a producer is kept, so after a restart one retry is recognised
instead of five (as in Kafka). formats/producers 3.
"""

from collections.abc import Collection
from struct import Struct
from typing import Final

from crc32c import crc32c

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes
from kafkapy.log.producers.producer_state import BatchMetadata, ProducerEntry

_VERSION: Final = 1
_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator
# epoch, first offset of the open transaction
_ENTRY: Final = Struct(">qhiqiqiq")


def encode_snapshot(entries: Collection[ProducerEntry]) -> bytes:
    parts = [_COUNT.pack(len(entries))]
    for entry in entries:
        batch = entry.batches[-1] if entry.batches else None
        first_offset = entry.transaction_first_offset
        parts.append(
            _ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                -1 if batch is None else batch.last_sequence,
                -1 if batch is None else batch.last_offset,
                0 if batch is None else batch.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if first_offset is None else first_offset,
            )
        )
    body = b"".join(parts)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: Bytes) -> list[ProducerEntry]:
    """Corrupt if version, CRC or size are wrong: delete the file and use an older one."""
    if len(data) < _HEAD.size + _COUNT.size:
        raise Corrupt(f"a producer snapshot of {len(data)} bytes")
    version, crc = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise Corrupt(f"a producer snapshot of version {version}")
    body = memoryview(data)[_HEAD.size :]
    if crc32c(body) != crc:
        raise Corrupt("a producer snapshot with a wrong CRC")
    (count,) = _COUNT.unpack_from(body)
    if count < 0 or count * _ENTRY.size > len(body) - _COUNT.size:
        raise Corrupt(f"{count} producers in {len(body)} bytes")
    end = _COUNT.size + count * _ENTRY.size
    return [_entry(*fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size : end])]


def _entry(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    first_offset: int,
) -> ProducerEntry:
    return ProducerEntry(
        producer_id,
        producer_epoch,
        coordinator_epoch,
        timestamp,
        first_offset if first_offset >= 0 else None,
        [BatchMetadata(last_sequence, last_offset, offset_delta, timestamp)]
        if last_offset >= 0
        else [],
    )
