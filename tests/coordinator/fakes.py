"""A clock one turns by hand, a partition in memory, and a machine that counts."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.step import Loaded, Step, TimerFired, Transactional, TransactionEnded
from kafkapy.core.time import Instant
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.protocol.batches.batch import batches, read_header, stamp
from kafkapy.runtime.record_log import Committed


class FakeTimer:
    def __init__(self, then: Callable[[], None]) -> None:
        self.then: Callable[[], None] | None = then

    def cancel(self) -> None:
        self.then = None


class FakeClock:
    """`advance` fires what comes due, in order; `run_soon` what was asked for soon."""

    def __init__(self, now: int = 1_000_000) -> None:
        self._now = now
        self.wall_ahead_ms = 0
        self._timers: list[tuple[int, int, FakeTimer]] = []
        self._soon: list[Callable[[], None]] = []
        self._count = 0

    def now(self) -> Instant:
        return Instant(self._now)

    def wall(self) -> Instant:
        return Instant(self._now + self.wall_ahead_ms)

    def ticks(self) -> float:
        return self.now() / 1000

    def call_at(self, when: Instant, then: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(then)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, timer))
        return timer

    def call_soon(self, then: Callable[[], None]) -> None:
        self._soon.append(then)

    def run_soon(self) -> int:
        rounds = 0
        while self._soon:
            soon, self._soon = self._soon, []
            rounds += 1
            for then in soon:
                then()
        return rounds

    @property
    def pending(self) -> int:
        return sum(timer.then is not None for _, _, timer in self._timers)

    def next_timer(self) -> None:
        """Whatever is due first fires, alone."""
        when, _, timer = heapq.heappop(self._timers)
        self._now = max(self._now, when)
        if timer.then is not None:
            timer.then()

    def advance(self, by_ms: int) -> None:
        end = self._now + by_ms
        self.run_soon()
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, when)
            if timer.then is not None:
                timer.then()
            self.run_soon()
        self._now = end


@dataclass
class MemoryLog:
    """One partition as its leader sees it. `commit` by hand unless `commits_at_once`."""

    commits_at_once: bool = True
    batches: list[bytes] = field(default_factory=list)
    end_offset: int = 0
    start_offset: int = 0
    refusal: ErrorCode | None = None
    unreadable: ErrorCode | None = None
    # max.message.bytes
    max_bytes: int | None = None
    waiting: list[tuple[int, Committed]] = field(default_factory=list)
    reads: int = 0
    guards: list[VerificationGuard | None] = field(default_factory=list)

    def append(
        self,
        batch: bytes,
        *,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
    ) -> int:
        if self.refusal is not None:
            raise Refused(self.refusal)
        if self.max_bytes is not None and len(batch) > self.max_bytes:
            raise Refused(ErrorCode.MESSAGE_TOO_LARGE)
        self.guards.append(guard)
        data = bytearray(batch)
        stamp(data, 0, self.end_offset, 0)
        self.batches.append(bytes(data))
        self.end_offset = read_header(data).next_offset
        return self.end_offset

    def when_committed(self, end_offset: int, then: Committed) -> None:
        if self.commits_at_once or end_offset == 0:
            then(None)
        else:
            self.waiting.append((end_offset, then))

    def commit(self, upto: int | None = None) -> None:
        ready = [row for row in self.waiting if upto is None or row[0] <= upto]
        self.waiting = [row for row in self.waiting if row not in ready]
        for _, then in ready:
            then(None)

    def lose(self, error: ErrorCode) -> None:
        waiting, self.waiting = self.waiting, []
        for _, then in waiting:
            then(error)

    def read(self, offset: int, max_bytes: int) -> bytes:
        self.reads += 1
        if self.unreadable is not None:
            raise Refused(self.unreadable)
        if offset < self.start_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        out = bytearray()
        for data in self.batches:
            for _, header in batches(data):
                if header.next_offset > offset and (not out or len(out) < max_bytes):
                    out += data
        return bytes(out)


class TextCodec:
    """Records are strings "key=value" ("key" alone is a tombstone); "?..." is unknown."""

    def encode(self, record: str) -> tuple[bytes, bytes | None]:
        key, sign, value = record.partition("=")
        return key.encode(), value.encode() if sign else None

    def decode(self, key: bytes, value: bytes | None) -> str | None:
        text = key.decode()
        if text.startswith("!"):
            raise Corrupt(text)
        if text.startswith("?"):
            return None
        return text if value is None else f"{text}={value.decode()}"


@dataclass
class EchoMachine:
    """Decides what it is told: an event that is a Step is that step."""

    applied: list[Any] = field(default_factory=list)
    loaded: Step[Any, Any] = field(default_factory=Step)
    fired: list[Any] = field(default_factory=list)
    on_timer: Step[Any, Any] = field(default_factory=Step)

    def decide(self, event: Any, now: Instant, wall: Instant) -> Step[Any, Any]:
        match event:
            case Loaded():
                return self.loaded
            case TimerFired(key):
                self.fired.append((key, now))
                return self.on_timer
            case Refused():
                raise event
            case Step():
                return event
            case _:
                raise AssertionError(event)

    def apply(self, record: str | Transactional[str] | TransactionEnded) -> None:
        self.applied.append(record)
