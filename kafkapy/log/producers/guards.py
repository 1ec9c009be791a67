"""Transactions that are being verified with their coordinator (KIP-890, formats/producers 5).

A producer's first transactional batch in a partition is appended only after the
coordinator has confirmed (or, with transactions v2, made it so) that the partition is
part of the transaction. The question takes a round trip; a guard ties the answer to it:

    begin --> guard --(AddPartitionsToTxn)--> append with the guard --> entry removed
                                              a marker in between   --> entry removed,
                                                                        the guard is void

The lowest sequence of the entry remembers what came first: while the question is open a
later batch of the same producer must not overtake an earlier one that failed.
"""

from dataclasses import field

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant


class VerificationGuard:
    """Compared by identity; says nothing."""

    __slots__ = ()


@dataclass(slots=True)
class VerificationEntry:
    lowest_sequence: int
    producer_epoch: int
    supports_epoch_bump: bool  # transactions v2
    began: Instant
    guard: VerificationGuard = field(default_factory=VerificationGuard)

    def saw(self, producer_epoch: int, sequence: int) -> None:
        if producer_epoch > self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.lowest_sequence = sequence
        elif producer_epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """At most one entry per producer id."""

    def __init__(self) -> None:
        self._entries: dict[int, VerificationEntry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, producer_id: int) -> VerificationEntry | None:
        return self._entries.get(producer_id)

    def matches(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        entry = self._entries.get(producer_id)
        return entry is not None and guard is entry.guard

    def begin(
        self,
        producer_id: int,
        producer_epoch: int,
        sequence: int,
        supports_epoch_bump: bool,
        now: Instant,
    ) -> VerificationGuard:
        """The entry's guard; retries and pipelined batches share one."""
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = VerificationEntry(sequence, producer_epoch, supports_epoch_bump, now)
            self._entries[producer_id] = entry
        else:
            entry.saw(producer_epoch, sequence)
        return entry.guard

    def remove(self, producer_id: int) -> None:
        """The transaction has data here now; no more questions."""
        self._entries.pop(producer_id, None)

    def marker_written(self, producer_id: int, producer_epoch: int) -> None:
        """A marker ends what was being verified, unless the entry is for the *next*
        transaction: v2 markers carry the epoch that the next transaction uses."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return
        if entry.supports_epoch_bump and entry.producer_epoch == producer_epoch:
            return
        del self._entries[producer_id]

    def expire(self, now: Instant, expiry_ms: int) -> None:
        expired = [
            producer_id
            for producer_id, entry in self._entries.items()
            if now - entry.began >= expiry_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
