"""What a node has promised about one partition, and whether it keeps it.

    sent --> acknowledged --> durable        who may forget what:
                                             kill -9   nothing that was written
                                             power     what is not durable
                                             retention what was let go, and no more

A log that lost its end is a prefix of what it was. So two offsets say all about survival:
`acknowledged_end` (a kill keeps everything below) and `durable_end` (so does a power cut).
What is at an offset, once known, stays so until a power cut takes it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from kafkapy.core.time import Instant
from kafkapy.sim.promises.topics import TopicFacts

NUMBER_HEADER: Final = "number"


class BrokenPromise(AssertionError):
    """The node did what it must not do. The message says what, where and what was due."""


class Death(Enum):
    STOPPED = "a clean stop"
    KILLED = "kill -9"
    POWER = "a power cut"


@dataclass(slots=True, eq=False)
class Sent:
    """One record that a client sent. Its number is in a header, so it is known again."""

    number: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    sent_at: Instant
    # Of the topic's settings, when it was last sent.
    era: int
    offset: int | None = None
    is_refused: bool = False


class ReadRecord(NamedTuple):
    """One record as a consumer got it."""

    offset: int
    number: int
    key: bytes | None
    value: bytes | None
    timestamp: int


class Contents(NamedTuple):
    """All that consumers can see of a partition."""

    log_start_offset: int
    end_offset: int
    records: tuple[ReadRecord, ...]


@dataclass(slots=True, eq=False)
class PartitionPromises:
    topic: TopicFacts
    index: int
    sent: dict[int, Sent] = field(default_factory=dict)
    # What is known to be at an offset: acknowledged or read.
    known: dict[int, Sent] = field(default_factory=dict)
    acknowledged_end: int = 0
    durable_end: int = 0
    # DeleteRecords was asked to delete below; done or not.
    deleted_below: int = 0
    high_watermark: int = 0

    def __str__(self) -> str:
        return f"{self.topic.name}-{self.index}"

    # What happens while the node lives.

    def acknowledged(self, batch: Iterable[Sent], base_offset: int) -> None:
        for offset, record in enumerate(batch, base_offset):
            self._place(record, offset)
            self.acknowledged_end = max(self.acknowledged_end, offset + 1)
            if self.is_durable(record):
                self.durable_end = max(self.durable_end, offset + 1)

    def is_durable(self, sent: Sent) -> bool:
        """Whether seeing it acknowledged, or seeing it at all, means the disk has it."""
        return self.topic.flushes_each and self.topic.era == sent.era

    def refused(self, batch: Iterable[Sent]) -> None:
        for record in batch:
            self.require(record.offset is None, f"{record.number} is there and refused")
            record.is_refused = True

    def consumed(self, records: Iterable[ReadRecord], high_watermark: int) -> None:
        """A consumer has these; whoever saw a record must not find it gone."""
        self.watermark_seen(high_watermark)
        for record in records:
            self.require(record.offset < high_watermark, f"{record} above {high_watermark}")
            sent = self._recognise(record)
            self.acknowledged_end = max(self.acknowledged_end, record.offset + 1)
            if self.is_durable(sent):
                self.durable_end = max(self.durable_end, record.offset + 1)

    def watermark_seen(self, high_watermark: int) -> None:
        self.require(
            high_watermark >= self.high_watermark,
            f"high watermark went back from {self.high_watermark} to {high_watermark}",
        )
        self.high_watermark = high_watermark

    def written(self, end_offset: int, flushed_offset: int) -> None:
        """The log's own word at the moment of its death."""
        self.acknowledged_end = max(self.acknowledged_end, end_offset)
        self.durable_end = max(self.durable_end, flushed_offset)

    def all_flushed(self) -> None:
        """A clean stop: nothing written before may be lost any more."""
        self.durable_end = self.acknowledged_end

    # What there is after a death.

    def recovered(self, contents: Contents, death: Death, now: Instant) -> bool:
        """Judge what was found, and go on from there. Whether anything was lost."""
        start, end, _ = contents
        due = self.durable_end if death is Death.POWER else self.acknowledged_end
        self.require(end >= due, f"ends at {end} where {due} was safe from {death.value}")
        self.require(start <= end, f"starts at {start} and ends at {end}")
        self._check_start(start, now)
        numbers = set()
        expected = start
        for record in contents.records:
            self.require(start <= record.offset < end, f"{record} outside {start}..{end}")
            self.require(record.offset >= expected, f"{record} where {expected} comes next")
            if not self.topic.was_compacted:
                self.require(record.offset == expected, f"{expected} is missing before {record}")
            expected = record.offset + 1
            self.require(record.number not in numbers, f"{record.number} is there twice")
            numbers.add(record.number)
        if not self.topic.was_compacted:
            self.require(expected == end, f"{expected} is missing, the end is {end}")
        lost = [sent for offset, sent in self.known.items() if offset >= end]
        if self.topic.was_compacted and death is Death.POWER:
            # Where the cleaner makes holes, recovery cannot tell one that a crash made.
            there = {record.offset for record in contents.records}
            lost += [
                sent
                for offset, sent in self.known.items()
                if max(start, self.durable_end) <= offset < end and offset not in there
            ]
        for sent in lost:
            assert sent.offset is not None, sent
            del self.known[sent.offset]
            sent.offset = None
        for record in contents.records:
            self._recognise(record)
        if self.topic.was_compacted:
            self._check_last_values(contents)
        self.acknowledged_end = end
        self.high_watermark = end
        return bool(lost)

    def require(self, holds: bool, message: str) -> None:
        if not holds:
            raise BrokenPromise(f"{self}: {message} ({self.topic.describe()})")

    def _recognise(self, record: ReadRecord) -> Sent:
        """A record that was read is one that was sent, and the one that belongs there."""
        sent = self.sent.get(record.number)
        if sent is None:
            raise BrokenPromise(f"{self}: {record} was never sent")
        self.require(not sent.is_refused, f"{record} was refused")
        same = (record.key, record.value) == (sent.key, sent.value)
        self.require(same, f"{record} was sent as {sent}")
        if not self.topic.had_append_time:
            self.require(record.timestamp == sent.timestamp, f"{record} was sent as {sent}")
        self._place(sent, record.offset)
        return sent

    def _place(self, sent: Sent, offset: int) -> None:
        there = self.known.get(offset)
        self.require(
            there is None or there is sent, f"both {there} and {sent} are at offset {offset}"
        )
        self.require(
            sent.offset is None or sent.offset == offset,
            f"{sent} is also at offset {offset}",
        )
        sent.offset = offset
        self.known[offset] = sent

    def _check_start(self, start: int, now: Instant) -> None:
        """Whatever is below the start was allowed to go."""
        last = {self.known[offset].key: offset for offset in sorted(self.known)}
        for offset in sorted(self.known):
            if offset >= start:
                return
            sent = self.known[offset]
            is_superseded = sent.value is None or last[sent.key] != offset
            let_go = (
                offset < self.deleted_below
                # The cleaner took it, and retention the older ones around it.
                or (self.topic.was_compacted and is_superseded)
                or self.topic.let_go(sent.timestamp, sent.sent_at, now)
            )
            self.require(let_go, f"starts at {start}, and nobody let {sent} go")

    def _check_last_values(self, contents: Contents) -> None:
        """Of each key the last value is there; a tombstone may be gone, with all before it.
        So may one that nobody was told the offset of (acks=0, or its answer was lost)."""
        there = {record.offset: record for record in contents.records}
        last_there = {record.key: record.offset for record in contents.records}
        last_known: dict[bytes | None, Sent] = {}
        for offset in sorted(self.known):
            if contents.log_start_offset <= offset < contents.end_offset:
                last_known[self.known[offset].key] = self.known[offset]
        unplaced = {
            sent.key: number  # the last one, as numbers ascend
            for number, sent in self.sent.items()
            if sent.value is None and sent.offset is None and not sent.is_refused
        }
        for key, sent in last_known.items():
            assert sent.offset is not None, sent
            if sent.offset in there or key is None or unplaced.get(key, -1) > sent.number:
                continue
            self.require(sent.value is None, f"the last value of {key!r} is gone: {sent}")
            older = last_there.get(key)
            self.require(older is None, f"{key!r} was deleted by {sent}, and is back at {older}")
