"""One batch through an expression.

    control batch               the same bytes
    every record stays          the same bytes
    some stay                   written anew: offsets, times, producer and epochs stay, and the
                                bytes of each record; the codec is the one it came with
    none stays, or it had none  None

`skipped` is the batch without records for a run of offsets of which nothing is shown.

A generator: it yields what it cost (microseconds, by count), so that a batch of a hundred
thousand records holds up nobody. Corrupt for a batch that cannot be read to its end, or is not what
its CRC says: of that nobody may see anything, because nobody can say what would be shown of it.
"""

from collections.abc import Generator, Iterator
from typing import Final

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Bytes
from kafkapy.protocol.batches.batch import BatchHeader, crc_is_valid, pack_batch, payload
from kafkapy.protocol.batches.records import read_varint, walk
from kafkapy.protocol.compression.codecs import compress_in_steps
from kafkapy.views.condition import Condition

# So much is done before others may be served.
_GIVE_WAY_US: Final = 250
# Unpacking; gzip, the slowest, packs 30 MB a second.
_BYTES_A_US: Final = 200
_COMPRESSED_BYTES_A_US: Final = 30
_NO_TIMESTAMP: Final = -1
_MOST_DELTA: Final = 2**31 - 1
_LATEST_MS: Final = 2**63 - 1

Work = Generator[int, None, bytes | None]


def filtered(
    batch: Bytes, header: BatchHeader, where: Condition, partition: int, topic: str
) -> Work:
    """What `where` lets through of a whole batch. Corrupt: it is none that can be read."""
    if header.is_control:
        return bytes(batch)
    if not header.record_count:
        return None
    if not crc_is_valid(batch, 0, header):  # written anew, it would have a good one
        raise Corrupt(f"bad CRC in the batch {header}")
    unpacked = payload(batch, header)
    yield len(unpacked) // _BYTES_A_US
    kept: list[int] = []
    newest = _NO_TIMESTAMP
    cost = 0
    records = walk(
        unpacked,
        header.record_count,
        header.base_offset,
        header.base_timestamp,
        header.max_timestamp if header.is_log_append_time else None,
    )
    for index, record in enumerate(records):
        if where.holds(record, partition, topic):
            kept.append(index)
            newest = max(newest, record.timestamp)
        cost += where.cost_us
        if cost >= _GIVE_WAY_US:
            yield cost
            cost = 0
    yield cost
    if not kept:
        return None
    if len(kept) == header.record_count:
        return bytes(batch)
    if newest > _LATEST_MS:  # a difference to the first one may say anything
        raise Corrupt(f"a record of the year {newest // 31_556_952_000 + 1970}")
    packed = yield from _compressed(header, b"".join(_chosen(unpacked, kept)))
    return pack_batch(
        packed,
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=header.attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=header.base_timestamp,
        max_timestamp=header.max_timestamp if header.is_log_append_time else newest,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=len(kept),
    )


def skipped(first: int, end: int, leader_epoch: int) -> bytes:
    """A batch without records that says: go on at `end`."""
    base = max(first, end - 1 - _MOST_DELTA)
    return pack_batch(
        b"",
        base_offset=base,
        leader_epoch=leader_epoch,
        attributes=0,
        last_offset_delta=end - 1 - base,
        base_timestamp=_NO_TIMESTAMP,
        max_timestamp=_NO_TIMESTAMP,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=0,
    )


def _chosen(unpacked: bytes, kept: list[int]) -> Iterator[bytes]:
    """The bytes of the records with these indexes, which were walked before."""
    position = index = 0
    for wanted in kept:
        while True:
            length, behind = read_varint(unpacked, position)
            start, position = position, behind + length
            index += 1
            if index > wanted:
                break
        yield unpacked[start:position]


def _compressed(header: BatchHeader, packed: bytes) -> Generator[int, None, bytes]:
    steps = compress_in_steps(header.codec, packed)
    while True:
        try:
            yield next(steps) // _COMPRESSED_BYTES_A_US
        except StopIteration as done:
            compressed: bytes = done.value
            return compressed
