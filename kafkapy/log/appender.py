"""The one way into a log.

    bytes --parsed once--> header --verdict--> Accepted --plan--> segment --commit--> AppendInfo
                                        \\                \\
                                         Refused          a duplicate: answered, not appended

Whose bytes they are decides the verdict, and nothing else: a leader's clients and coordinators
(`validation`, and `plain_batch` for what is nearly always sent), or the leader whom a follower
asks (`accept_from_leader`). The plan changes nothing but perhaps the active segment: what its
producer may not write is refused, or was written before; what does not fit begins a new segment.
The commit begins with the one write that may fail, and leaves everything as it was if it does.
"""

from collections.abc import Sequence
from typing import Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Bytes
from kafkapy.core.time import Instant
from kafkapy.log.append import NO_TIMESTAMP, AppendInfo, Origin
from kafkapy.log.config import FOREVER_MS, LogConfig
from kafkapy.log.flushing import Flushing
from kafkapy.log.history import History
from kafkapy.log.leader_epochs import LeaderEpochs
from kafkapy.log.offsets import Offsets
from kafkapy.log.plain_batch import stamp_if_plain
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import BatchMetadata, ProducerStates
from kafkapy.log.recovery import MAX_RELATIVE_OFFSET
from kafkapy.log.segments.rolling import NO_ROOM, room_in, should_roll
from kafkapy.log.segments.segment import Segment
from kafkapy.log.segments.transaction_index import AbortedTransaction
from kafkapy.log.storage import Storage
from kafkapy.log.validation import accept_from_leader, records_at_once, validate
from kafkapy.log.validation_records import check_each
from kafkapy.protocol.batches.batch import (
    CONTROL_BIT,
    LOG_OVERHEAD,
    STAMP_SIZE,
    BatchHeader,
    pack_stamp,
)
from kafkapy.protocol.batches.control_records import read_marker

_CLIENT: Final = Origin.CLIENT
_NEVER: Final = -1
_new_tuple: Final = tuple.__new__


class Appender:
    """Of one log."""

    __slots__ = (
        "_after_max_ms",
        "_config",
        "_epochs",
        "_flush_ms",
        "_flushing",
        "_history",
        "_index_interval_bytes",
        "_offsets",
        "_plain_bytes",
        "_positions",
        "_producers",
        "_room",
        "_segments",
        "_storage",
    )

    def __init__(
        self, storage: Storage, offsets: Offsets, history: History, flushing: Flushing
    ) -> None:
        self._storage = storage
        self._segments = storage.segments
        self._positions = storage.positions
        self._offsets = offsets
        self._history = history
        self._flushing = flushing
        # The history's, once an append has needed them.
        self._epochs: LeaderEpochs | None = None
        self._producers: ProducerStates | None = None
        self._room = NO_ROOM
        self._config: LogConfig = storage.config
        self._plain_bytes = self._after_max_ms = self._index_interval_bytes = self._flush_ms = 0
        self.configured(storage.config)

    def configured(self, config: LogConfig) -> None:
        """The log has these settings now. What each batch asks for is looked up once."""
        self._config = config
        self._room = NO_ROOM
        # The longest batch that `plain_batch` may judge.
        most = min(config.max_message_bytes, config.segment_bytes)
        self._plain_bytes = most if config.asks_nothing_of_records else 0
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._index_interval_bytes = config.index_interval_bytes
        self._flush_ms = _NEVER if config.flush_ms == FOREVER_MS else config.flush_ms

    def append_as_leader(
        self,
        records: memoryview,
        leader_epoch: int,
        origin: Origin,
        transaction_version: int,
        guard: VerificationGuard | None,
        now: Instant,
    ) -> AppendInfo:
        config, offsets = self._config, self._offsets
        base_offset, size = offsets.log_end, len(records)
        plain = None
        if origin is _CLIENT and size <= self._plain_bytes:
            newest = now + self._after_max_ms
            plain = stamp_if_plain(records, newest, base_offset, leader_epoch)
        parts: Sequence[Bytes]
        headers: Sequence[BatchHeader]
        if plain is not None:
            stamp = pack_stamp(base_offset, size - LOG_OVERHEAD, leader_epoch)
            parts, headers = (stamp, records[STAMP_SIZE:]), (plain,)
            log_append_time_ms = NO_TIMESTAMP
        else:
            parts, headers, size, log_append_time_ms = validate(
                records,
                config,
                origin=origin,
                now=now,
                base_offset=base_offset,
                leader_epoch=leader_epoch,
            )
            if origin is Origin.EXAMINED:
                origin = _CLIENT
            elif config.record_check is not None and origin is _CLIENT:
                check_each(records_at_once(records), config.record_check)
            if size > config.segment_bytes:
                raise Refused(
                    ErrorCode.RECORD_LIST_TOO_LARGE,
                    f"{size} bytes of records where segment.bytes is {config.segment_bytes}",
                )
        if headers[0].producer_id >= 0 or len(headers) > 1:
            duplicate = self._check_producers(headers, parts, origin, transaction_version, guard)
            if duplicate is not None:
                return AppendInfo(
                    duplicate.first_offset,
                    duplicate.last_offset,
                    duplicate.timestamp,
                    offsets.log_start,
                    True,
                )
        next_offset = self._commit(parts, headers, size, now)
        fields = (base_offset, next_offset - 1, log_append_time_ms, offsets.log_start, False)
        info: AppendInfo = _new_tuple(AppendInfo, fields)
        return info

    def append_as_follower(
        self, records: memoryview, topic_partition: TopicPartition, now: Instant
    ) -> AppendInfo:
        offsets = self._offsets
        first_offset = offsets.log_end
        accepted = accept_from_leader(records, first_offset, topic_partition)
        if accepted is not None:
            headers = accepted.headers
            first_offset = headers[0].base_offset
            if headers[-1].last_offset - first_offset <= MAX_RELATIVE_OFFSET:
                self._commit(accepted.parts, headers, accepted.size, now)
            else:  # what the cleaner left of so many that no segment holds both ends
                position = 0
                for header in headers:
                    end = position + header.size
                    batch = accepted.parts[0][position:end]
                    self._commit((batch,), (header,), header.size, now)
                    position = end
        fields = (first_offset, offsets.log_end - 1, NO_TIMESTAMP, offsets.log_start, False)
        info: AppendInfo = _new_tuple(AppendInfo, fields)
        return info

    def _check_producers(
        self,
        headers: Sequence[BatchHeader],
        parts: Sequence[Bytes],
        origin: Origin,
        transaction_version: int,
        guard: VerificationGuard | None,
    ) -> BatchMetadata | None:
        """Refused, or which batch the log has already."""
        producers = self._producers
        if producers is None:
            producers = self._history.producers
        at = 0
        for header in headers:
            if header.producer_id >= 0:
                marker = None
                if header.attributes & CONTROL_BIT:
                    marker = read_marker(b"".join(parts[at : at + 2]))
                duplicate = producers.check(
                    header,
                    origin,
                    marker=marker,
                    transaction_version=transaction_version,
                    guard=guard,
                )
                if duplicate is not None:
                    return duplicate
            at += 2
        return None

    def _commit(
        self, parts: Sequence[Bytes], headers: Sequence[BatchHeader], size: int, now: Instant
    ) -> int:
        """The log's new end."""
        storage = self._storage
        assert not storage.is_closed, storage.directory
        producers, epochs = self._producers, self._epochs
        if producers is None or epochs is None:
            producers = self._producers = self._history.producers
            epochs = self._epochs = self._history.epochs
        segment = self._segments.active
        position = segment.size
        last = headers[-1]
        base_offset = last.base_offset
        next_offset = base_offset + last.last_offset_delta + 1
        newest = last.max_timestamp
        is_more = last.producer_id >= 0
        if len(headers) > 1:
            is_more = True
            base_offset = headers[0].base_offset
            newest = max([header.max_timestamp for header in headers])
        # A cache of `should_roll`: see log/segments/rolling.py.
        room = self._room
        if (
            room.segment is not segment
            or position + size > room.size
            or next_offset > room.last_offset
            or newest > room.timestamp
        ):
            segment = self._segment_for(headers, size, now)
            position = segment.size
        segment.append(parts, headers, self._index_interval_bytes)
        self._positions.remember(base_offset, position)
        self._offsets.log_end = producers.end_offset = next_offset
        if is_more or last.leader_epoch > epochs.latest:
            _learn(epochs, producers, headers, segment, position)
        if self._flush_ms != _NEVER:
            self._flushing.flush_within(self._flush_ms)
        return next_offset

    def _segment_for(self, headers: Sequence[BatchHeader], size: int, now: Instant) -> Segment:
        segment, config = self._segments.active, self._config
        if should_roll(segment, config, headers, size, now):
            # A follower's next batch may begin later, where its leader's cleaner left a gap.
            # That is inside of the new segment then: a hole between two says to a start after
            # a crash that the end of the first was lost.
            base_offset = self._offsets.log_end
            if headers[-1].last_offset - base_offset > MAX_RELATIVE_OFFSET:
                base_offset = headers[0].base_offset
            return self._flushing.roll(base_offset, now)
        self._room = room_in(segment, config)
        return segment


def _learn(
    epochs: LeaderEpochs,
    producers: ProducerStates,
    headers: Sequence[BatchHeader],
    segment: Segment,
    position: int,
) -> None:
    """What batches that are in the log now, from `position` on, say of epochs and producers."""
    for header in headers:
        if header.leader_epoch > epochs.latest:
            epochs.assign(header.leader_epoch, header.base_offset)
        if header.producer_id >= 0:
            _fold(producers, segment, header, position)
        position += header.length + LOG_OVERHEAD


def _fold(producers: ProducerStates, segment: Segment, header: BatchHeader, position: int) -> None:
    """A producer's batch that is in the log now, at `position`."""
    is_control = header.attributes & CONTROL_BIT
    batch: Bytes = segment.file.read(position, header.size) if is_control else b""
    completed = producers.update(header, batch)
    if completed is not None and completed.is_aborted:
        segment.add_aborted(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
        )
