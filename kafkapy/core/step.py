"""Decide, then apply: how every coordinator changes its mind.

    event, now --> decide --> Step --> records appended --> apply --> committed --> reply
                   (reads)                                 (writes)

A machine's state is a fold over its records. `decide` reads the state and says what
should become true; `apply` is the only writer and never fails. No step is ever undone:
runtime/runtime.py has the rule for what is applied and answered when.
"""

from collections.abc import Hashable, Mapping
from dataclasses import field
from typing import Any, Generic, Protocol, TypeVar

from kafkapy.core.data import dataclass
from kafkapy.core.time import Instant

Rec = TypeVar("Rec")
Reply = TypeVar("Reply")
Event = TypeVar("Event", contravariant=True)


@dataclass(frozen=True, slots=True)
class Step(Generic[Rec, Reply]):
    """What one event caused.

    records  durable facts: appended all or none, then applied.
    notes    soft facts: applied after the records, never written; lost with the leader.
    reply    the answer to whoever asked, sent once `records` are committed.
    park     instead of a reply: whoever asked waits under this key...
    answers  ...until a later step answers that key, once *its* records are committed.
    timers   arm (an Instant) or clear (None) the timer with this key; a timer that is
             due comes back as the event `TimerFired(key)`.
    """

    records: tuple[Rec, ...] = ()
    notes: tuple[Rec, ...] = ()
    reply: Reply | None = None
    park: Hashable | None = None
    answers: tuple[tuple[Hashable, Reply], ...] = ()
    timers: Mapping[Hashable, Instant | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimerFired:
    """The timer armed under `key` is due."""

    key: Hashable


@dataclass(frozen=True, slots=True)
class Loaded:
    """Event: the log is replayed and this node leads. Arm the timers the state asks for."""


@dataclass(frozen=True, slots=True)
class Transactional(Generic[Rec]):
    """A record that belongs to a producer's open transaction: it counts from the marker on.

    The records of one step are all transactional, of one producer, or none is. `guard` is
    not of the record: what the log below wants to see with an append, none when replayed.
    """

    producer_id: int
    producer_epoch: int
    record: Rec
    guard: Any = None


@dataclass(frozen=True, slots=True)
class TransactionEnded:
    """The marker: what the producer's open transaction wrote here now counts, or never will."""

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_committed: bool
    transaction_version: int = 0


class Machine(Protocol[Event, Rec, Reply]):
    def decide(self, event: Event, now: Instant, wall: Instant) -> Step[Rec, Reply]:
        """Read only: what should follow from `event`. Timers are armed by `now`; records say
        `wall`, and are held against it (core/seams.py)."""

    def apply(self, record: Rec) -> None:
        """The only writer of the machine's state; never fails."""
