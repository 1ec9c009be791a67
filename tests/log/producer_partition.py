"""A partition's producers, fed with batches that are only headers."""

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.time import Instant
from kafkapy.log.append import Origin
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import (
    BatchMetadata,
    CompletedTransaction,
    ProducerStates,
)
from kafkapy.log.producers.snapshot_file import encode_snapshot
from kafkapy.protocol.batches.batch import NewRecord, build_batch, read_header
from kafkapy.protocol.batches.control_records import build_marker, read_marker

NOW = Instant(1_700_000_000_000)
PID = 4000
E = ErrorCode


class Partition:
    """A log that holds nothing: it checks, then updates, as PartitionLog does. A transactional
    batch brings the guard that nobody had to confirm, unless the coordinator is in the test."""

    def __init__(self, *, verifies: bool = False) -> None:
        self.states = ProducerStates(TopicPartition("orders", 0))
        self._verifies = verifies

    def data(
        self,
        sequence: int,
        count: int = 1,
        *,
        epoch: int = 0,
        pid: int = PID,
        transactional: bool = False,
        origin: Origin = Origin.CLIENT,
        guard: VerificationGuard | None = None,
        timestamp: int = NOW,
    ) -> BatchMetadata | CompletedTransaction | None:
        batch = build_batch(
            [NewRecord(b"k", b"v", timestamp)] * count,
            base_offset=self.states.end_offset,
            producer_id=pid,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        header = read_header(batch)
        if transactional and not self._verifies and origin is not Origin.REPLICATION:
            guard = self.states.begin_verification(
                pid, epoch, sequence, supports_epoch_bump=False, now=NOW
            )
        duplicate = self.states.check(header, origin, guard=guard)
        return duplicate or self.states.update(header, batch)

    def marker(
        self,
        *,
        commit: bool,
        epoch: int = 0,
        pid: int = PID,
        coordinator_epoch: int = 0,
        version: int = 0,
        origin: Origin = Origin.COORDINATOR,
    ) -> CompletedTransaction | None:
        batch = build_marker(
            is_commit=commit,
            coordinator_epoch=coordinator_epoch,
            producer_id=pid,
            producer_epoch=epoch,
            timestamp=NOW,
            base_offset=self.states.end_offset,
        )
        header = read_header(batch)
        self.states.check(header, origin, marker=read_marker(batch), transaction_version=version)
        return self.states.update(header, batch)

    def refuses(self, code: ErrorCode, sequence: int, count: int = 1, **how: object) -> None:
        before = encode_snapshot(list(self.states.active()))
        with pytest.raises(Refused) as refused:
            self.data(sequence, count, **how)  # type: ignore[arg-type]  # passed through
        assert refused.value.code is code
        assert encode_snapshot(list(self.states.active())) == before
