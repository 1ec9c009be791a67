"""What one answer had of a partition, read as it is asked for.

    take(most, most_bytes)    the next records; what they were read from goes as it is used up
    next_offset               where to go on behind those taken, also past what is left out
    size                      bytes that are kept for what was not taken
    let_go()                  keep nothing: who wants the rest fetches again, from next_offset

Control records are left out, and what an aborted transaction wrote (KIP-98), as a consumer of
Kafka's does it.
"""

from collections.abc import Generator, Sequence
from itertools import islice
from typing import Any, Final

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.protocol.batches import batch
from kafkapy.protocol.batches.records import Record

ANY: Final = 2**63 - 1


class Unread:
    """KafkaError, of `about`, for what is corrupt; what comes before it is given first."""

    __slots__ = ("_about", "_records", "is_done", "next_offset", "size")

    def __init__(self, data: bytes, offset: int, aborted: Sequence[Any], about: str) -> None:
        self.next_offset = offset
        self.is_done = not data
        self.size = len(data)
        self._about = about
        open_from = sorted((one.first_offset, one.producer_id) for one in aborted)
        self._records = self._read(data, offset, open_from)

    def take(self, most: int = ANY, most_bytes: int = ANY) -> list[Record]:
        """At most so many; of so many bytes, or the first of them that is larger."""
        found: list[Record] = []
        taken = 0
        try:
            for record in islice(self._records, most):
                found.append(record)
                self.next_offset = record.offset + 1
                taken += size_of(record)
                if taken >= most_bytes:
                    return found
        except Corrupt as bad:
            if not found:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, self._about, str(bad)) from None
            self.let_go()  # who fetches again, from `next_offset`, is told
            return found
        self.is_done = len(found) < most
        return found

    def let_go(self) -> None:
        self._records.close()
        self.is_done = True
        self.size = 0

    def _read(
        self, data: bytes, offset: int, aborted: list[tuple[int, int]]
    ) -> Generator[Record, None, None]:
        open_aborted: set[int] = set()
        places = list(batch.batches(data))
        for position, header in places:
            while aborted and aborted[0][0] <= header.last_offset:
                open_aborted.add(aborted.pop(0)[1])
            if header.is_control:
                open_aborted.discard(header.producer_id)
            elif not header.is_transactional or header.producer_id not in open_aborted:
                payload = batch.payload(memoryview(data)[position:], header)
                if position == places[-1][0]:
                    data = b""  # the last, often the only one
                self.size = len(data) + len(payload)
                for record in batch.records_from(payload, header, offset):
                    if record.offset >= offset:
                        yield record
            self.next_offset = max(self.next_offset, header.next_offset)
        self.size = 0


def size_of(record: Record) -> int:
    """Of its key, its value, its headers and what it takes beside them."""
    size = 64 + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += len(name) + len(value or b"")
    return size
