"""What one share partition gives to one fetch: records from its log, and which of them.

The bytes are whole batches as they are in the log; which of their records the member has is
said beside them. With share.isolation.level=read_committed it reads up to the last stable offset,
and what is of aborted transactions, and the markers, are over as soon as they come by.
"""

from typing import Final, NamedTuple

from kafkapy.broker.share.led import LedShare
from kafkapy.core.seams import Clock
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import BatchHeader, batches
from kafkapy.share.partition import Acquired, Asked, Span

# Reads in a row that give nothing, as of a long aborted transaction, before others are served.
READS_IN_A_ROW: Final = 16


class Taken(NamedTuple):
    """`is_unfinished`: there may be more, but others want to be served."""

    records: bytes
    acquired: "list[Acquired]"
    is_unfinished: bool = False


NOTHING: Final = Taken(b"", [])


def take(
    share: LedShare,
    asked: Asked,
    max_bytes: int,
    batch_size: int,
    clock: Clock,
    *,
    reads_committed: bool,
) -> Taken:
    """`batch_size`: how many records are told together. DiskFailed if the log cannot be read."""
    machine, log = share.machine, share.partition.log
    machine.log_begins_at(log.log_start_offset)
    for _ in range(READS_IN_A_ROW):
        upper = log.last_stable_offset if reads_committed else log.high_watermark
        offset = machine.fetch_offset
        if offset is None or offset >= upper:
            return NOTHING
        data, read_to = _read(log, offset, max_bytes, upper)
        found = [(at, one) for at, one in batches(data) if one.last_offset >= offset]
        headers = [header for _, header in found]
        if reads_committed:
            headers = _committed(headers, log.aborted_transactions(offset, read_to))
        spans = [Span(header.base_offset, header.last_offset) for header in headers]
        acquired = machine.acquire(asked, offset, spans, read_to, clock.now())
        if acquired:
            share.acquired()
            return Taken(_cut(data, found, acquired), _together(acquired, batch_size))
        if machine.fetch_offset == offset:
            return NOTHING  # the window is full, or all of it is in other hands
    return Taken(b"", [], is_unfinished=True)


def is_there(share: LedShare, upper: int) -> int:
    """How many bytes could be had, roughly, without taking any."""
    offset, log = share.machine.fetch_offset, share.partition.log
    if offset is None or offset >= upper:
        return 0
    offset = max(offset, log.log_start_offset)
    _, slices, size = log.read(offset, 2**31 - 1, upper=upper, min_one_batch=True)
    for one in slices:
        one.release()
    return size


def _read(log: PartitionLog, offset: int, max_bytes: int, upper: int) -> tuple[bytes, int]:
    """Whole batches, and up to where that is all that there is."""
    _, slices, size = log.read(offset, max_bytes, upper=upper, min_one_batch=True)
    data = b"".join(one.read() for one in slices)
    for one in slices:
        one.release()
    if not size:
        return b"", upper  # compaction left nothing from here on
    end, next_offset = 0, offset
    for at, header in batches(data):
        end, next_offset = at + header.size, max(next_offset, header.next_offset)
    return data[:end], next_offset


def _committed(headers: list[BatchHeader], aborted: list[tuple[int, int]]) -> list[BatchHeader]:
    """Without markers, and without what is of aborted transactions: each begins at its first
    offset and ends with its producer's next marker. `aborted`: producer ids, first offsets."""
    to_come = sorted(aborted, key=lambda one: one[1], reverse=True)
    under_way: set[int] = set()
    committed = []
    for header in headers:
        while to_come and to_come[-1][1] <= header.last_offset:
            under_way.add(to_come.pop()[0])
        if header.is_control:
            under_way.discard(header.producer_id)
        elif not header.is_transactional or header.producer_id not in under_way:
            committed.append(header)
    return committed


def _together(acquired: list[Acquired], batch_size: int) -> list[Acquired]:
    """Neighbours that are delivered as often, until they are `batch_size` or more."""
    told: list[Acquired] = []
    for one in acquired:
        last = told[-1] if told else None
        if (
            last is not None
            and last.last_offset + 1 == one.first_offset
            and last.delivery_count == one.delivery_count
            and last.last_offset - last.first_offset + 1 < batch_size
        ):
            told[-1] = last._replace(last_offset=one.last_offset)
        else:
            told.append(one)
    return told


def _cut(data: bytes, found: "list[tuple[int, BatchHeader]]", acquired: "list[Acquired]") -> bytes:
    """From the batch of the first acquired record to that of the last."""
    first, last = acquired[0].first_offset, acquired[-1].last_offset
    begin, end = 0, len(data)
    for at, header in found:
        if header.base_offset <= first:
            begin = at
        if header.base_offset <= last:
            end = at + header.size
    return data[begin:end]
