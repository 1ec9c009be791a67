"""What a relay reads of its own log: records of committed transactions, and where to go on."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batch import BatchHeader, Codec, batches, records
from kafkapy.protocol.records import Record

# Of batches whose records are kept, because the next one that is due may be in one of them.
_KEPT_BYTES: Final = 2 * 1024 * 1024


class Stretch(NamedTuple):
    """All that counts in [the offset asked for, next_offset). `records` is walked once."""

    records: Iterator[Record]
    next_offset: int
    codec: Codec


def read_committed(log: PartitionLog, offset: int, max_bytes: int) -> Stretch:
    """Up to the last stable offset. Refused(OFFSET_OUT_OF_RANGE), DiskFailed."""
    upper = log.last_stable_offset
    data = _read(log, offset, max_bytes, upper)
    found = list(batches(data))
    if not found:
        return Stretch(iter(()), upper, Codec.NONE)  # nothing is left from here on
    next_offset = max(offset, found[-1][1].next_offset)
    aborted = log.aborted_transactions(offset, next_offset)
    return Stretch(_committed(data, found, aborted, offset), next_offset, found[-1][1].codec)


def _committed(
    data: bytes,
    found: list[tuple[int, BatchHeader]],
    aborted: list[tuple[int, int]],
    offset: int,
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
            for one in records(data[at : at + header.size]):
                if one.offset >= offset:
                    yield one


class Recent:
    """Single records by their offsets, of batches that were decoded not long ago."""

    def __init__(self) -> None:
        self._batches: OrderedDict[int, tuple[int, int, dict[int, Record]]] = OrderedDict()
        self._bytes = 0

    def find(self, log: PartitionLog, offset: int) -> tuple[Record | None, int]:
        """The record, None if it is there no more; and how many were decoded for it."""
        for base, (last, _, by_offset) in reversed(self._batches.items()):
            if base <= offset <= last:
                self._batches.move_to_end(base)
                return by_offset.get(offset), 0
        if offset < log.log_start_offset:
            return None, 0
        data = _read(log, offset, 1, log.last_stable_offset)
        for at, header in batches(data):
            whole = data[at : at + header.size]
            by_offset = {one.offset: one for one in records(whole)}
            self._keep(header.base_offset, header.last_offset, len(whole), by_offset)
            return by_offset.get(offset), len(by_offset)
        return None, 0

    def _keep(self, base: int, last: int, size: int, by_offset: dict[int, Record]) -> None:
        self._batches[base] = (last, size, by_offset)
        self._bytes += size
        while self._bytes > _KEPT_BYTES and len(self._batches) > 1:
            _, (_, freed, _) = self._batches.popitem(last=False)
            self._bytes -= freed


def _read(log: PartitionLog, offset: int, max_bytes: int, upper: int) -> bytes:
    _, slices, _ = log.read(offset, max_bytes, upper=upper, min_one_batch=True)
    data = b"".join(one.read() for one in slices)
    for one in slices:
        one.release()
    return data
