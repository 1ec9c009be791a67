"""What stands in a partition, read from its log: no consumer, no waiting, nothing hidden.

Control batches are not records; they decide what became of a transaction. The state of a
record is found by walking the log once: a producer's data stays "open" until its next
commit or abort marker.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.seams import FileSlice
from kafkapy.protocol.batches.batch import batches, records

TransactionState = Literal["committed", "aborted", "open"]
_CONTROL_KEY = struct.Struct(">hh")  # version, type
_COMMIT = 1


class Record(NamedTuple):
    """One record as it was written. `transaction` is None outside transactions."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int
    transaction: TransactionState | None
    producer_id: int | None

    @property
    def is_visible(self) -> bool:
        """Whether a consumer with isolation.level=read_committed gets it (or will)."""
        return self.transaction in (None, "committed")


def read_bytes(partition: Partition) -> bytes:
    """On the broker's loop: the partition's batches, from its start to its end."""
    log = partition.log
    start, end = log.log_start_offset, log.log_end_offset
    found: list[bytes] = []
    while start < end:
        read = log.read(start, 1 << 30, upper=end)
        data = b"".join(_taken(read.slices))
        last = 0
        for at, header in batches(data):
            start, last = header.next_offset, at + header.size
        if not last:
            break
        found.append(data[:last])
    return b"".join(found)


def _taken(slices: Iterable[FileSlice]) -> Iterator[bytes]:
    for one in slices:
        yield one.read()
        one.release()


def decode(topic: str, partition: int, data: bytes, log_start_offset: int = 0) -> list[Record]:
    """The records of whole batches, with what became of their transactions."""
    view = memoryview(data)
    found: list[Record] = []
    undecided: dict[int, list[int]] = {}
    for at, header in batches(data):
        batch = view[at : at + header.size]
        if header.is_control:
            decided = undecided.pop(header.producer_id, [])
            state = _marker(batch)
            for index in decided:
                found[index] = found[index]._replace(transaction=state)
            continue
        open_ones = undecided.setdefault(header.producer_id, []) if header.is_transactional else []
        for one in records(batch):
            if one.offset < log_start_offset:
                continue  # deleted with DeleteRecords, still in its batch
            open_ones.append(len(found))
            found.append(
                Record(
                    topic,
                    partition,
                    one.offset,
                    _own(one.key),
                    _own(one.value),
                    tuple((name, _own(value)) for name, value in one.headers),
                    one.timestamp,
                    "open" if header.is_transactional else None,
                    header.producer_id if header.producer_id >= 0 else None,
                )
            )
    return found


def _marker(batch: memoryview) -> TransactionState:
    key = next(records(batch)).key
    assert key is not None, "a control record has a key"
    _, kind = _CONTROL_KEY.unpack_from(key)
    return "committed" if kind == _COMMIT else "aborted"


def _own(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)
