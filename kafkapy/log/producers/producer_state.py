"""What a partition remembers of its producers: sequences, open transactions, the last
stable offset (formats/producers 1 to 5; KIP-98, KIP-360, KIP-890, KIP-1228).

    batch from a client --> check --> (append) --> update
                            reads     the log      the only writer

`check` refuses what breaks a producer's order, or recognises a retry of one of its last
five batches; it changes nothing. `update` is called with every batch that is in the log,
on append as well as on replay, and never refuses: replay after a crash gives the same
state as the appends did.

Open transactions hold the last stable offset back; a completed one still does until its
marker is below the high watermark, or an unreplicated marker could decide what a reader
sees and then be truncated away.

    open --marker--> unreplicated --high watermark passes the marker--> gone
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.limits import PRODUCER_BATCHES_REMEMBERED
from kafkapy.core.seams import Bytes
from kafkapy.core.time import Instant
from kafkapy.log.append import Origin
from kafkapy.log.producers.guards import VerificationGuard, Verifications
from kafkapy.protocol.batches.batch import MAX_SEQUENCE, BatchHeader
from kafkapy.protocol.batches.control_records import EndTransactionMarker, read_marker

DEFAULT_EXPIRY_MS: Final = 86_400_000  # producer.id.expiration.ms
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
MAX_PRODUCER_EPOCH: Final = 2**15 - 1
# A transaction open for longer than its maximum timeout plus this is hanging, not slow.
LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60 * 1000
_new_tuple: Final = tuple.__new__


class BatchMetadata(NamedTuple):
    """One remembered batch: enough to recognise it and to answer for it again."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class CompletedTransaction(NamedTuple):
    """A transaction that had data here and got its marker at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
    # As if all before were replicated: where the next open transaction of another
    # producer begins, else right behind the marker. Kafka's .txnindex carries it.
    last_stable_offset: int


class ProducerEntry:
    """One producer id's state; `producer_epoch` -1 while it has written nothing."""

    _FIELDS: Final = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "transaction_first_offset",
    )
    __slots__ = _FIELDS

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = NO_TIMESTAMP,
        transaction_first_offset: int | None = None,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.batches = deque(batches, PRODUCER_BATCHES_REMEMBERED)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """Of the last data batch; -1 if none is remembered."""
        return self.batches[-1].last_offset if self.batches else -1

    def duplicate_of(self, header: BatchHeader) -> BatchMetadata | None:
        """The remembered batch with this epoch and exactly these sequences."""
        if header.producer_epoch != self.producer_epoch:
            return None
        first, last = header.base_sequence, header.last_sequence
        if first == self.last_sequence + 1:
            return None  # what follows the last one is none of those before it
        for batch in self.batches:
            if batch.last_sequence == last and batch.first_sequence == first:
                return batch
        return None

    def is_amid(self, batch: BatchMetadata) -> bool:
        """Whether it belongs to the transaction that is open."""
        first = self.transaction_first_offset
        return first is not None and batch.first_offset >= first

    def enter_epoch(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches.clear()

    def is_expired(self, now: Instant, expiry_ms: int) -> bool:
        return self.transaction_first_offset is None and now - self.last_timestamp >= expiry_ms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProducerEntry) and all(
            getattr(self, name) == getattr(other, name) for name in self._FIELDS
        )

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._FIELDS)
        return f"ProducerEntry({fields})"


class ProducerStates:
    """All producers of one partition. `end_offset` is how far the log was folded in."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        *,
        expiry_ms: int = DEFAULT_EXPIRY_MS,
        end_offset: int = 0,
    ) -> None:
        self.topic_partition = topic_partition
        self.expiry_ms = expiry_ms
        self.end_offset = end_offset
        self.verifications = Verifications()
        self._entries: dict[int, ProducerEntry] = {}
        # First offset -> producer id, ascending: offsets only grow.
        self._open: dict[int, int] = {}
        # (marker's offset, first offset), in the order of the markers.
        self._unreplicated: deque[tuple[int, int]] = deque()

    # -- before an append

    def check(
        self,
        header: BatchHeader,
        origin: Origin,
        *,
        marker: EndTransactionMarker | None = None,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
    ) -> BatchMetadata | None:
        """Refuse a batch that its producer may not write now; None: append it.

        A client's retry of a batch that is in the log already answers that batch: report
        its offsets, append nothing. For a control batch pass its `marker`.
        """
        if header.producer_id < 0 or origin is Origin.REPLICATION or origin is Origin.RAFT:
            return None
        entry = self._entries.get(header.producer_id)
        if header.is_control:
            if marker is not None:
                self._check_marker(header, entry, marker, transaction_version)
            return None
        if origin is Origin.CLIENT and entry is not None:
            duplicate = entry.duplicate_of(header)
            if duplicate is not None:
                if header.is_transactional and not entry.is_amid(duplicate):
                    raise self._ended_before(header)
                return duplicate
        if header.is_transactional:
            self._check_verified(header, guard)
        if entry is not None and header.producer_epoch < entry.producer_epoch:
            raise self._refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                header,
                f"epoch {header.producer_epoch} is behind {entry.producer_epoch}",
            )
        if origin is Origin.CLIENT:
            self._check_sequence(header, entry)
        if (
            entry is not None
            and entry.transaction_first_offset is not None
            and not header.is_transactional
        ):
            raise self._refused(
                ErrorCode.INVALID_TXN_STATE, header, "a plain batch inside a transaction"
            )
        return None

    def _check_verified(self, header: BatchHeader, guard: VerificationGuard | None) -> None:
        if not self.is_amid(header) and not self.verifications.matches(header.producer_id, guard):
            raise self._refused(
                ErrorCode.INVALID_TXN_STATE,
                header,
                "the coordinator did not confirm that the partition is in the transaction",
            )

    def _check_sequence(self, header: BatchHeader, entry: ProducerEntry | None) -> None:
        first = header.base_sequence
        verification = self.verifications.get(header.producer_id)
        if verification is not None:
            is_unknown = entry is None or not entry.batches
            if verification.supports_epoch_bump and first != 0 and is_unknown:
                raise self._out_of_order(header, "a new transaction starts at 0")
            if first > verification.lowest_sequence:
                raise self._out_of_order(
                    header, f"{verification.lowest_sequence} has been seen and is not written"
                )
        if entry is None or entry.producer_epoch == NO_EPOCH:
            return
        if header.producer_epoch != entry.producer_epoch:
            if first != 0:
                raise self._out_of_order(header, "a new epoch starts at 0")
            return
        last = entry.last_sequence
        # Not `(last + 1) & MAX_SEQUENCE == first` alone: after an epoch bump without data
        # the last sequence is -1, and the next is 0 as well.
        if first != last + 1 and not (first == 0 and last == MAX_SEQUENCE):
            raise self._out_of_order(header, f"the last one is {last}")

    def _check_marker(
        self,
        header: BatchHeader,
        entry: ProducerEntry | None,
        marker: EndTransactionMarker,
        transaction_version: int,
    ) -> None:
        if entry is None:
            return
        epoch, current = header.producer_epoch, entry.producer_epoch
        is_behind = epoch < current
        if transaction_version >= 2 and epoch == current:
            # The coordinator raised the epoch for this marker, so an equal one belongs to
            # a transaction that has ended. A retry of its marker is harmless, and the
            # epoch after the last one cannot be raised.
            is_open = entry.transaction_first_offset is not None
            is_behind = is_open and epoch != MAX_PRODUCER_EPOCH
        if is_behind:
            raise self._refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                header,
                f"a marker of epoch {epoch} behind {current} (TV{transaction_version})",
            )
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise self._refused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                header,
                f"coordinator epoch {marker.coordinator_epoch} is behind {entry.coordinator_epoch}",
            )

    def _ended_before(self, header: BatchHeader) -> Refused:
        """Its sequences were written by a transaction that has ended, so nobody waits for them:
        a client ends a transaction when all its batches are answered. Either it comes late, or its
        producer gave records up and used their sequences again (decision 0010): to call those
        written would lose them. This error makes clients abort and ask for a new epoch."""
        return self._refused(
            ErrorCode.UNKNOWN_PRODUCER_ID,
            header,
            f"sequence {header.base_sequence} of epoch {header.producer_epoch} "
            "is of a transaction that has ended",
        )

    def _out_of_order(self, header: BatchHeader, why: str) -> Refused:
        return self._refused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            header,
            f"sequence {header.base_sequence} of epoch {header.producer_epoch}: {why}",
        )

    def _refused(self, code: ErrorCode, header: BatchHeader, why: str) -> Refused:
        return Refused(code, f"producer {header.producer_id} in {self.topic_partition}: {why}")

    # -- after an append, and on replay

    def update(self, header: BatchHeader, batch: Bytes) -> CompletedTransaction | None:
        """Fold in a batch that is in the log. `batch` (the whole of it) is looked at only
        when it is a control batch. An aborted transaction belongs into the .txnindex."""
        self.end_offset = header.next_offset
        if header.producer_id < 0:
            return None
        if header.is_control:
            marker = read_marker(batch)
            return None if marker is None else self._end_transaction(header, marker)
        entry = self._entry(header.producer_id)
        entry.enter_epoch(header.producer_epoch)
        timestamp = header.max_timestamp
        fields = (header.last_sequence, header.last_offset, header.last_offset_delta, timestamp)
        entry.batches.append(_new_tuple(BatchMetadata, fields))
        entry.last_timestamp = timestamp
        if header.is_transactional:
            if entry.transaction_first_offset is None:
                entry.transaction_first_offset = header.base_offset
                self._open[header.base_offset] = header.producer_id
            self.verifications.remove(header.producer_id)
        return None

    def _end_transaction(
        self, header: BatchHeader, marker: EndTransactionMarker
    ) -> CompletedTransaction | None:
        producer_id, offset = header.producer_id, header.base_offset
        entry = self._entry(producer_id)
        first_offset = entry.transaction_first_offset
        entry.enter_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = header.max_timestamp
        entry.transaction_first_offset = None
        self.verifications.marker_written(producer_id, header.producer_epoch)
        if first_offset is None:
            return None
        del self._open[first_offset]
        self._unreplicated.append((offset, first_offset))
        others = [first for first, other in self._open.items() if other != producer_id]
        return CompletedTransaction(
            producer_id,
            first_offset,
            offset,
            not marker.is_commit,
            last_stable_offset=others[0] if others else offset + 1,
        )

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        return entry

    # -- the last stable offset

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest open transaction begins."""
        return next(iter(self._open), None)

    @property
    def first_unstable_offset(self) -> int | None:
        """As above, counting completed transactions with unreplicated markers as open."""
        first = next(iter(self._open), None)
        if not self._unreplicated:
            return first
        unreplicated = min(offset for _, offset in self._unreplicated)
        return unreplicated if first is None else min(first, unreplicated)

    def last_stable_offset(self, high_watermark: int, log_start_offset: int = 0) -> int:
        self.high_watermark_advanced(high_watermark)
        first = self.first_unstable_offset
        if first is None:
            return high_watermark
        return min(max(first, log_start_offset), high_watermark)

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Transactions whose markers are replicated now are decided for good."""
        unreplicated = self._unreplicated
        while unreplicated and unreplicated[0][0] < high_watermark:
            unreplicated.popleft()

    def log_start_offset_advanced(self, log_start_offset: int) -> None:
        """Producers stay known though their batches are gone."""
        self.high_watermark_advanced(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)

    # -- looking

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def active(self) -> Iterator[ProducerEntry]:
        """All known producers: for DescribeProducers and for snapshots."""
        return iter(self._entries.values())

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a transaction of exactly this epoch is open here."""
        entry = self._entries.get(producer_id)
        return (
            entry is not None
            and entry.transaction_first_offset is not None
            and entry.producer_epoch == producer_epoch
        )

    def is_amid(self, header: BatchHeader) -> bool:
        """Whether the transaction of this batch is open here."""
        return self.has_open_transaction(header.producer_id, header.producer_epoch)

    def has_late_transaction(self, now: Instant, max_transaction_timeout_ms: int) -> bool:
        """Whether the oldest open transaction has outlived every timeout (a metric)."""
        oldest = next(iter(self._open.values()), None)
        if oldest is None:
            return False
        last_timestamp = self._entries[oldest].last_timestamp
        late_after_ms = max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS
        return last_timestamp > 0 and now - last_timestamp > late_after_ms

    # -- verification by the transaction coordinator (KIP-890)

    def begin_verification(
        self,
        producer_id: int,
        producer_epoch: int,
        sequence: int,
        *,
        supports_epoch_bump: bool,
        now: Instant,
    ) -> VerificationGuard | None:
        """The guard to append with once the coordinator has confirmed; None: no need to
        ask, a transaction of this epoch is open here."""
        entry = self._entries.get(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id} in {self.topic_partition}: epoch {producer_epoch} is "
                f"behind {entry.producer_epoch}",
            )
        if self.has_open_transaction(producer_id, producer_epoch):
            return None
        return self.verifications.begin(
            producer_id, producer_epoch, sequence, supports_epoch_bump, now
        )

    # -- forgetting and reloading

    def expire(self, now: Instant) -> int:
        """Forget who has been silent for `expiry_ms`; how many."""
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if entry.is_expired(now, self.expiry_ms)
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        self.verifications.expire(now, self.expiry_ms)
        return len(expired)

    def reset(self, end_offset: int) -> None:
        """As if nothing had been written before `end_offset`."""
        self._entries.clear()
        self._open.clear()
        self._unreplicated.clear()
        self.end_offset = end_offset

    def load(self, entries: Iterable[ProducerEntry], end_offset: int, now: Instant) -> None:
        """Become what a snapshot at `end_offset` says; the batches behind it are then
        replayed through `update`. Completed transactions need no memory: a snapshot is
        only loaded up to an offset that nobody will truncate below."""
        self.reset(end_offset)
        for entry in entries:
            if not entry.is_expired(now, self.expiry_ms):
                self._entries[entry.producer_id] = entry
        open_transactions = [
            (entry.transaction_first_offset, entry.producer_id)
            for entry in self._entries.values()
            if entry.transaction_first_offset is not None
        ]
        self._open = dict(sorted(open_transactions))
