"""Work over many partitions, some at a time: a broker that leads thousands goes or comes.

    event --> too many partitions at once: InSlices --> slice, slice, ... --> the event again,
                                                                              few are left by now
    event --> its own record and a first slice --> slice, slice, ...

A slice is a step of its own, and so is its batch of records: between two of them others are served.
A controller that falls meanwhile leaves nothing half done that matters: a broker is fenced, or
registered anew, only once it is out of every ISR, so the next controller begins where this one
stopped; and it looks for partitions without a leader when it begins. Who asked waits until the end.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE
from kafkapy.core.step import Step, TimerFired
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import (
    BrokerHeard,
    ControllerStep,
    Fact,
    SweepBegun,
    SweepEnded,
    SweptOn,
)
from kafkapy.kraft.controller.partitions import leadership
from kafkapy.kraft.controller.partitions.index import LAST, LEADERLESS, LEAVABLE
from kafkapy.kraft.controller.partitions.partition_change import Election
from kafkapy.kraft.controller.partitions.places import START, Cursor, Places
from kafkapy.kraft.controller.state import ControllerState, Located, Sweep

# Partitions in one step: some milliseconds.
SLICE: Final = 100

_SWEEP: Final = "sweep"
Decide = Callable[[Any, Instant], ControllerStep]


class InSlices(Exception):
    """Raised instead of a step: these partitions first, a slice at a time, then decide again."""

    def __init__(self, sweep: Sweep) -> None:
        super().__init__(sweep)
        self.sweep = sweep


def is_sweep_key(key: Hashable) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and key[0] == _SWEEP


def sweep_key(about: Hashable) -> Hashable:
    return (_SWEEP, about)


def one_slice(
    state: ControllerState,
    broker_id: int,
    places: Places,
    *,
    removed: int = NO_NODE,
    unclean: int = NO_NODE,
    gives_up: bool = False,
    loses_some: bool = False,
) -> list[Located]:
    """`places`, if they are few enough for one step; InSlices otherwise."""
    if places.is_more_than(SLICE):
        raise InSlices(
            Sweep(
                broker_id,
                places,
                removed=removed,
                unclean=unclean,
                gives_up=gives_up,
                loses_some=loses_some,
            )
        )
    return state.located(places)


def first_slice(state: ControllerState, places: Places) -> tuple[list[Located], Cursor | None]:
    """And where the rest begins, None if there is none."""
    first, cursor = places.from_cursor(START, SLICE)
    return state.located(first), None if places.is_end(cursor) else cursor


def leaving(state: ControllerState, broker_id: int) -> Places:
    """Partitions whose ISR the broker is to leave. Where it is the last of many, and leads no
    more, there is nothing to change, and they are left out: else it would never be done."""
    found = state.index.places(LEAVABLE, LAST, broker=broker_id)
    return state.index.places(LEAVABLE, broker=broker_id) if found.is_more_than(SLICE) else found


def check_none_awaited(state: ControllerState, about: Hashable) -> None:
    """Refused while somebody waits for another sweep of the same broker."""
    if _is_awaited(state, about):
        raise Refused(
            ErrorCode.REQUEST_TIMED_OUT, f"Partitions of broker {about} are being changed."
        )


def _is_awaited(state: ControllerState, about: Hashable) -> bool:
    under_way = state.sweeps.get(about)
    return under_way is not None and under_way.is_awaited


def begun(sweep: Sweep, now: Instant) -> tuple[tuple[Fact, ...], dict[Hashable, Instant | None]]:
    """The note and the timer of a step that leaves the rest of its work to a sweep."""
    return (SweepBegun(replace(sweep, since=now)),), {sweep_key(sweep.about): now}


class Sweeps:
    """`decide` is the whole machine's: for the events that waited."""

    def __init__(self, state: ControllerState, decide: Decide) -> None:
        self._state = state
        self._decide = decide

    def begin(self, many: InSlices, event: Any, now: Instant) -> ControllerStep:
        """Instead of deciding on `event`. Refused while somebody waits for another one."""
        about = many.sweep.about
        is_timer = isinstance(event, TimerFired)
        if is_timer and _is_awaited(self._state, about):
            return Step()
        check_none_awaited(self._state, about)
        sweep = replace(many.sweep, event=event, is_awaited=not is_timer)
        notes, timers = begun(sweep, now)
        return Step(notes=notes, timers=timers, park=None if is_timer else sweep_key(about))

    def go_on(self, key: Hashable, now: Instant) -> ControllerStep:
        assert isinstance(key, tuple), key
        sweep = self._state.sweeps.get(key[1])
        if sweep is None:
            return Step()
        if self._is_over(sweep):
            return self._end(sweep, now)
        chunk, cursor = sweep.places.from_cursor(sweep.next, SLICE)
        records = self._records(sweep, self._state.located(chunk))
        return Step(
            records=tuple(records),
            notes=(SweptOn(sweep.about, cursor), *self._shut_down_later(sweep, len(records))),
            timers={key: now},
        )

    def _is_over(self, sweep: Sweep) -> bool:
        """Done, or it is about a broker that is not what it was."""
        # Who comes back and is gone again takes over nothing more.
        is_gone = sweep.added != NO_NODE and not self._state.is_active(sweep.added)
        return self._is_back(sweep) or is_gone or sweep.places.is_end(sweep.next)

    def _is_back(self, sweep: Sweep) -> bool:
        contact = self._state.contacts.get(sweep.removed)
        return (
            sweep.gives_up
            and contact is not None
            and sweep.since is not None
            and contact.last_heard > sweep.since
        )

    def _end(self, sweep: Sweep, now: Instant) -> ControllerStep:
        ended = SweepEnded(sweep.about)
        if sweep.event is None:
            return Step(notes=(ended,))
        key = sweep_key(sweep.about)
        try:
            step = self._decide(sweep.event, now)
        except InSlices as many:
            again = replace(many.sweep, event=sweep.event, is_awaited=sweep.is_awaited)
            notes, timers = begun(again, now)
            return Step(notes=notes, timers=timers)
        except Refused as refused:
            step = Step(reply=refused)
        if self._is_back(sweep) and not step.records:
            step = self._leads_again(sweep, step, now)
        answers = ((key, step.reply),) if sweep.is_awaited else ()
        return replace(step, notes=(ended, *step.notes), answers=answers)

    def _leads_again(self, sweep: Sweep, step: ControllerStep, now: Instant) -> ControllerStep:
        """It stays unfenced, so nothing else would make it lead what it alone can: that was
        taken from it in the slices before it was heard of."""
        leaderless = self._state.index.places(LEADERLESS)
        waiting, rest = first_slice(self._state, leaderless)
        records = leadership.updates(self._state, waiting, added=sweep.removed)
        step = replace(step, records=tuple(records))
        if rest is None:
            return step
        more = Sweep(sweep.about, leaderless, added=sweep.removed, next=rest)
        notes, timers = begun(more, now)
        return replace(step, notes=(*step.notes, *notes), timers={**step.timers, **timers})

    def _records(self, sweep: Sweep, found: Sequence[Located]) -> Sequence[Fact]:
        if sweep.election is not None:
            return leadership.elections(self._state, found, sweep.election)
        return leadership.updates(
            self._state,
            found,
            removed=sweep.removed,
            added=sweep.added,
            unclean=sweep.unclean,
        )

    def _shut_down_later(self, sweep: Sweep, count: int) -> tuple[Fact, ...]:
        """A broker that shuts down goes once the others know of all that was moved."""
        contact = self._state.contacts.get(sweep.removed)
        if contact is None or contact.shutdown_offset is None or not count:
            return ()
        last = self._state.next_offset + count - 1
        return (BrokerHeard(sweep.removed, contact._replace(shutdown_offset=last)),)


def election_step(
    state: ControllerState, about: Hashable, places: Places, election: Election, now: Instant
) -> Step[Fact, bool]:
    """Elections that are due by themselves. Answered with True if there is more to do."""
    if places.is_more_than(SLICE):
        notes, timers = begun(Sweep(about, places, election=election), now)
        return Step(notes=notes, timers=timers, reply=True)
    records = leadership.elections(state, state.located(places), election)
    return Step(records=tuple(records), reply=False)
