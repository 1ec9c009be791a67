"""What a relay reads of its own log: records of committed transactions, and where to go on.

A producer may have packed what nobody can unpack, and given it a right CRC (decision 0002). Such a
batch has the records that can be read from its start, and no more: nobody else reads more either.
Bytes that do not match their CRC are a disk's doing: Corrupt.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import (
    BatchHeader,
    Codec,
    batches,
    crc_is_valid,
    payload,
    records,
)
from kafkapy.protocol.batches.records import Record, starts, walk

# A batch is looked for one by one; where the records of smaller ones begin is found again at once.
_KEPT_BATCHES: Final = 64
_REMEMBERED_FROM: Final = 64
# Reading and unpacking a batch, roughly, and one record of it.
_BATCH_COST_US: Final = 50
_BYTES_A_US: Final = 1_000
_POSITIONS_A_US: Final = 5
_RECORD_COST_US: Final = 5


Garbage = Callable[[BatchHeader, Corrupt], None]


class Stretch(NamedTuple):
    """All that counts in [the offset asked for, next_offset). `records` is walked once."""

    records: Iterator[Record]
    next_offset: int
    codec: Codec


def read_committed(
    log: PartitionLog, offset: int, max_bytes: int, on_garbage: Garbage | None = None
) -> Stretch:
    """Up to the last stable offset. Refused(OFFSET_OUT_OF_RANGE), DiskFailed. `on_garbage` is told
    of batches that end before their records do."""
    upper = log.last_stable_offset
    data = _read(log, offset, max_bytes, upper)
    found = list(batches(data))
    if not found:
        return Stretch(iter(()), upper, Codec.NONE)  # nothing is left from here on
    next_offset = max(offset, found[-1][1].next_offset)
    aborted = log.aborted_transactions(offset, next_offset)
    records_there = _committed(data, found, aborted, offset, on_garbage)
    return Stretch(records_there, next_offset, found[-1][1].codec)


def _committed(
    data: bytes,
    found: list[tuple[int, BatchHeader]],
    aborted: list[tuple[int, int]],
    offset: int,
    on_garbage: Garbage | None,
) -> Iterator[Record]:
    """An aborted transaction begins at its first offset and ends with its producer's marker."""
    to_come = sorted(aborted, key=lambda one: one[1], reverse=True)
    under_way: set[int] = set()
    for at, header in found:
        while to_come and to_come[-1][1] <= header.last_offset:
            under_way.add(to_come.pop()[0])
        if header.is_control:
            under_way.discard(header.producer_id)
        elif not header.is_transactional or header.producer_id not in under_way:
            try:
                for one in records(data[at : at + header.size]):
                    if one.offset >= offset:
                        yield one
            except Corrupt as bad:
                if not crc_is_valid(data, at, header):
                    raise
                if on_garbage is not None:
                    on_garbage(header, bad)


class Recent:
    """Single records by their offsets, in any order, of batches that are kept for a while.

    What is due next may be in any batch, so a record costs no more than its batch's bytes: where
    each record begins is remembered for longer (four bytes each), and only the one is decoded.
    """

    def __init__(self) -> None:
        # Of unpacked batches (one is kept, however large); of where records begin, twice that.
        self.most_bytes = 0
        self._batches: OrderedDict[int, _Batch] = OrderedDict()
        self._bytes = 0
        self._positions: OrderedDict[int, array[int]] = OrderedDict()
        self._position_bytes = 0

    @property
    def kept_bytes(self) -> int:
        return self._bytes + self._position_bytes

    def find(self, log: PartitionLog, offset: int) -> tuple[Record | None, int]:
        """The record, None if it is there no more; and what that cost, in microseconds."""
        if offset < log.log_start_offset:
            return None, 0
        for base, batch in reversed(self._batches.items()):
            if base <= offset <= batch.header.last_offset:
                self._batches.move_to_end(base)
                return self._one(batch, offset)
        data = _read(log, offset, 1, log.last_stable_offset)
        for at, header in batches(data):
            whole = data[at : at + header.size]
            try:
                found = _Batch(header, payload(whole, header))
                record, cost_us = self._one(found, offset)
            except Corrupt:
                return _as_far_as_it_goes(whole, header, offset)
            self._keep(found)
            return record, cost_us + _BATCH_COST_US + len(found.payload) // _BYTES_A_US
        return None, 0

    def _one(self, batch: "_Batch", offset: int) -> tuple[Record | None, int]:
        header = batch.header
        cost_us = _RECORD_COST_US
        positions = self._positions.get(header.base_offset)
        if positions is None:
            positions = starts(batch.payload, header.record_count)
            self._remember(header.base_offset, positions)
            cost_us += header.record_count // _POSITIONS_A_US
        else:
            self._positions.move_to_end(header.base_offset)
        # Where compaction was at work before the topic had a relay, it stands further in front.
        index = min(offset - header.base_offset, header.record_count - 1)
        while index >= 0:
            one = self._decoded(batch, positions, index)
            if one.offset <= offset:
                return (one if one.offset == offset else None), cost_us
            index -= 1
            cost_us += _RECORD_COST_US
        return None, cost_us

    def _decoded(self, batch: "_Batch", positions: "array[int]", index: int) -> Record:
        header = batch.header
        end = positions[index + 1] if index + 1 < len(positions) else len(batch.payload)
        (one,) = walk(
            batch.payload[positions[index] : end],
            1,
            header.base_offset,
            header.base_timestamp,
            header.max_timestamp if header.is_log_append_time else None,
        )
        return one

    def _keep(self, batch: "_Batch") -> None:
        self._batches[batch.header.base_offset] = batch
        self._bytes += len(batch.payload)
        while len(self._batches) > 1 and (
            self._bytes > self.most_bytes or len(self._batches) > _KEPT_BATCHES
        ):
            _, freed = self._batches.popitem(last=False)
            self._bytes -= len(freed.payload)

    def _remember(self, base: int, positions: "array[int]") -> None:
        if len(positions) < _REMEMBERED_FROM:
            return
        self._positions[base] = positions
        self._position_bytes += positions.itemsize * len(positions)
        while self._position_bytes > 2 * self.most_bytes and len(self._positions) > 1:
            _, freed = self._positions.popitem(last=False)
            self._position_bytes -= freed.itemsize * len(freed)


def _as_far_as_it_goes(whole: bytes, header: BatchHeader, offset: int) -> tuple[Record | None, int]:
    """One of those before the garbage."""
    cost_us = _BATCH_COST_US + header.record_count * _RECORD_COST_US
    try:
        for one in records(whole):
            if one.offset == offset:
                return one, cost_us
    except Corrupt:
        if not crc_is_valid(whole, 0, header):
            raise
    return None, cost_us


class _Batch(NamedTuple):
    header: BatchHeader
    payload: bytes  # unpacked


def _read(log: PartitionLog, offset: int, max_bytes: int, upper: int) -> bytes:
    _, slices, _ = log.read(offset, max_bytes, upper=upper, min_one_batch=True)
    data = b"".join(one.read() for one in slices)
    for one in slices:
        one.release()
    return data
