"""One batch through the cleaner: kept as it is, kept with fewer records, emptied, or dropped.

    wanted records   all, nothing to set     -> the same bytes
                     some, or a new horizon  -> rewritten: base offset, last offset delta,
                                                sequence, producer and epochs stay
                     none                    -> only the header, if it still has a purpose

Delete horizons (KIP-534): the first rewriting of a batch with tombstones (or of a marker
whose data is gone) writes into its base timestamp when they may go: now plus
delete.retention.ms. Timestamps in the batch become deltas to that. formats/log 13.

Both functions are generators: they yield the cost of what they did (in bytes, a record
counting like RECORD_COST of them) and return the result, so that a batch with a hundred
thousand records does not stop the loop.
"""

from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

from kafkapy.core.seams import Bytes
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.protocol.batches.batch import (
    CODEC_MASK,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    pack_batch,
    payload,
)
from kafkapy.protocol.batches.records import Key, in_64_bits, read_varint, walk_keys, write_varint
from kafkapy.protocol.compression.codecs import compress_in_steps

NO_TIMESTAMP: Final = -1
# A record takes 3 to 6 us, as long as copying some 100 bytes through everything here.
RECORD_COST: Final = 128
_RECORDS_AT_ONCE: Final = 128
_MAX_VARINT_BYTES: Final = 10
# delete.retention.ms may say "for ever"; what it is added to has 64 bits.
_LAST_HORIZON: Final = 2**63 - 1

MapWork = Generator[int, None, bool]
BatchWork = Generator[int, None, Bytes | None]


class Verdict(NamedTuple):
    """What is known about a batch before its records are looked at."""

    keeps_records: bool  # False: all may go (aborted data, a marker past its horizon)
    keeps_header: bool  # a batch without records still carries something
    is_marker_without_data: bool  # gets a delete horizon


def map_keys(batch: Bytes, header: BatchHeader, start_offset: int, offsets: OffsetMap) -> MapWork:
    """Note the offset of each key from `start_offset` on; False: the map is full."""
    unpacked = payload(batch, header)
    seen = 0
    for record in walk_keys(unpacked, header.record_count, header.base_offset):
        if record.key is not None and record.offset >= start_offset:
            if offsets.is_full:
                return False
            offsets.put(record.key, record.offset)
        seen += 1
        if seen % _RECORDS_AT_ONCE == 0:
            yield _RECORDS_AT_ONCE * RECORD_COST
    yield header.size + seen % _RECORDS_AT_ONCE * RECORD_COST
    return True


def filter_batch(
    batch: Bytes,
    header: BatchHeader,
    verdict: Verdict,
    offsets: OffsetMap,
    now: int,
    delete_retention_ms: int,
) -> BatchWork:
    """What stays of the batch; None: nothing."""
    kept: list[Key] = []
    unpacked = b""
    has_tombstones = False
    if verdict.keeps_records:
        unpacked = payload(batch, header)
        horizon = header.delete_horizon_ms
        keeps_tombstones = horizon is None or now < horizon
        is_control, latest = header.is_control, offsets.latest_offset
        seen = 0
        for record in walk_keys(unpacked, header.record_count, header.base_offset):
            if (
                is_control
                or record.offset > latest
                or (
                    record.key is not None
                    and (record.has_value or keeps_tombstones)
                    and record.offset >= offsets.get(record.key)
                )
            ):
                kept.append(record)
                has_tombstones = has_tombstones or not record.has_value
            seen += 1
            if seen % _RECORDS_AT_ONCE == 0:
                yield _RECORDS_AT_ONCE * RECORD_COST
        yield header.size + seen % _RECORDS_AT_ONCE * RECORD_COST
    if not kept:
        return _emptied(header) if verdict.keeps_header else None
    sets_horizon = header.delete_horizon_ms is None and (
        has_tombstones or verdict.is_marker_without_data
    )
    if len(kept) == header.record_count and not sets_horizon:
        return batch
    new_horizon = header.delete_horizon_ms
    if sets_horizon:
        new_horizon = min(now + delete_retention_ms, _LAST_HORIZON)
    return (yield from _rewritten(header, unpacked, kept, new_horizon))


def _emptied(header: BatchHeader) -> bytes:
    """Offsets, sequence and producer without a record: as Kafka writes it."""
    return pack_batch(
        b"",
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=header.attributes & ~(CODEC_MASK | DELETE_HORIZON_BIT),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=0,
    )


def _rewritten(
    header: BatchHeader, unpacked: bytes, kept: Sequence[Key], horizon: int | None
) -> Generator[int, None, bytes]:
    """The batch with only the records `kept`, their deltas to a base timestamp that is the
    horizon, or else the first record's."""
    attributes = header.attributes & ~DELETE_HORIZON_BIT
    if horizon is not None:
        attributes |= DELETE_HORIZON_BIT
    is_append_time = attributes & LOG_APPEND_TIME_BIT != 0
    base_timestamp = horizon
    max_timestamp = NO_TIMESTAMP
    parts: list[bytes] = []
    for index, record in enumerate(kept):
        _, attributes_at = read_varint(unpacked, record.start)
        delta, rest = read_varint(unpacked, attributes_at + 1, _MAX_VARINT_BYTES)
        if is_append_time:
            timestamp = header.max_timestamp
        else:
            timestamp = in_64_bits(header.base_timestamp + delta)
        if base_timestamp is None:
            base_timestamp = timestamp
        max_timestamp = max(max_timestamp, timestamp)
        if timestamp - base_timestamp == delta:
            parts.append(unpacked[record.start : record.end])
        else:
            raw_delta = write_varint(in_64_bits(timestamp - base_timestamp))
            length = 1 + len(raw_delta) + record.end - rest
            attributes_byte = unpacked[attributes_at : attributes_at + 1]
            parts += (
                write_varint(length),
                attributes_byte,
                raw_delta,
                unpacked[rest : record.end],
            )
        if index % _RECORDS_AT_ONCE == _RECORDS_AT_ONCE - 1:
            yield _RECORDS_AT_ONCE * RECORD_COST
    assert base_timestamp is not None, "a batch is rewritten with one record or more"
    packed = yield from compress_in_steps(header.codec, b"".join(parts))
    return pack_batch(
        packed,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=len(kept),
    )
