"""Which batches a round of cleaning may drop because of how their transaction ended.

Walks along with the cleaner, batch by batch in offset order:

    data of an aborted transaction     droppable at once
    a marker                           droppable once no data of its transaction was seen
    an ABORT marker that must stay     goes into the cleaned segment's .txnindex again

Markers outlive their data by one more round (and a delete horizon): a consumer that
reads the data must still find out how it ended.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from kafkapy.core.seams import Bytes
from kafkapy.log.segments.transaction_index import AbortedTransaction
from kafkapy.protocol.batches.batch import BatchHeader, records
from kafkapy.protocol.batches.control_records import ControlRecordType, control_type


class CleanedTransactions:
    """`keep_aborted` is called for each aborted transaction that is still reported."""

    def __init__(self, keep_aborted: Callable[[AbortedTransaction], None]) -> None:
        self.keep_aborted = keep_aborted
        # By first offset: those that begin at or after what was read so far.
        self._coming: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, AbortedTransaction] = {}
        self._aborted_with_data: set[int] = set()
        self._committed: set[int] = set()

    def add(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Transactions that overlap the segment to be read next."""
        for transaction in aborted:
            heappush(self._coming, (transaction.first_offset, transaction))

    def may_drop(self, header: BatchHeader, batch: Bytes) -> bool:
        """Whether the batch's records are of no use to any reader."""
        self._begin_up_to(header.last_offset)
        if header.is_control:
            return self._may_drop_marker(header, batch)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._aborted_with_data.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def _begin_up_to(self, offset: int) -> None:
        coming = self._coming
        while coming and coming[0][0] <= offset:
            _, transaction = heappop(coming)
            # One that spans segments is added once for each of them.
            self._aborted.setdefault(transaction.producer_id, transaction)

    def _may_drop_marker(self, header: BatchHeader, batch: Bytes) -> bool:
        producer_id = header.producer_id
        for record in records(batch):
            match control_type(record.key):
                case ControlRecordType.ABORT:
                    transaction = self._aborted.pop(producer_id, None)
                    if transaction is None or producer_id not in self._aborted_with_data:
                        return True
                    self._aborted_with_data.discard(producer_id)
                    self.keep_aborted(transaction)
                    return False
                case ControlRecordType.COMMIT:
                    had_data = producer_id in self._committed
                    self._committed.discard(producer_id)
                    return not had_data
                case _:
                    return False
        return True  # emptied by an earlier round
