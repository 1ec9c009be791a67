"""Records of a step <-> the one batch they travel in.

plain step          one batch, no producer
transactional step  one batch, transactional bit, the producer's id and epoch
TransactionEnded    one control batch: the marker
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kafkapy.coordinator.shard_log import RecordCodec
from kafkapy.core.step import Transactional, TransactionEnded
from kafkapy.core.time import Instant
from kafkapy.protocol.batches.batch import (
    BatchHeader,
    Codec,
    NewRecord,
    Record,
    batches,
    build_batch,
    records,
)
from kafkapy.protocol.batches.control_records import build_marker, read_marker


class Found(NamedTuple):
    """One offset of the log: what to apply there, if anything."""

    end_offset: int
    record: Any | None
    is_unknown: bool = False


def build(
    step_records: Sequence[Any],
    codec: RecordCodec[Any],
    now: Instant,
    compression: Codec,
    base_sequence: int,
) -> bytes:
    """The batch of one step's records; they are all of one kind (core/step.py)."""
    first = step_records[0]
    if isinstance(first, TransactionEnded):
        assert len(step_records) == 1, ("a marker travels alone", step_records)
        return build_marker(
            is_commit=first.is_committed,
            coordinator_epoch=first.coordinator_epoch,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            timestamp=now,
        )
    if isinstance(first, Transactional):
        return build_batch(
            [_new_record(codec, _of_producer(record, first), now) for record in step_records],
            codec=compression,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            base_sequence=base_sequence,
            is_transactional=True,
        )
    return build_batch(
        [_new_record(codec, record, now) for record in step_records],
        codec=compression,
        base_sequence=base_sequence,
    )


def read(data: bytes, codec: RecordCodec[Any], from_offset: int) -> Iterator[Found]:
    """What the whole batches in `data` hold, from `from_offset` on.

    Each batch ends with where the next one begins: compaction may have taken its tail.
    """
    view = memoryview(data)
    for position, header in batches(view):
        if header.last_offset < from_offset:
            continue
        batch = view[position : position + header.size]
        if header.is_control:
            yield Found(header.next_offset, _ended_by(batch, header))
            continue
        for entry in records(batch):
            if entry.offset >= from_offset:
                yield _found(entry, header, codec)
        yield Found(header.next_offset, None)


def _new_record(codec: RecordCodec[Any], record: Any, now: Instant) -> NewRecord:
    key, value = codec.encode(record)
    return NewRecord(key, value, now)


def _of_producer(record: Any, first: Transactional[Any]) -> Any:
    assert isinstance(record, Transactional), ("plain among transactional", record)
    assert record.producer_id == first.producer_id, ("two producers in a step", record, first)
    return record.record


def _found(entry: Record, header: BatchHeader, codec: RecordCodec[Any]) -> Found:
    end_offset = entry.offset + 1
    if entry.key is None:
        return Found(end_offset, None, is_unknown=True)
    record = codec.decode(entry.key, entry.value)
    if record is None:
        return Found(end_offset, None, is_unknown=True)
    if header.is_transactional:
        record = Transactional(header.producer_id, header.producer_epoch, record)
    return Found(end_offset, record)


def _ended_by(batch: memoryview, header: BatchHeader) -> TransactionEnded | None:
    marker = read_marker(batch)
    if marker is None:
        return None
    return TransactionEnded(
        header.producer_id, header.producer_epoch, marker.coordinator_epoch, marker.is_commit
    )
