"""Work over many partitions, some at a time: a broker that leads thousands goes or comes.

    event --> too many partitions at once: InSlices --> slice, slice, ... --> the event again,
                                                                              few are left by now
    event --> its own record and a first slice --> slice, slice, ...

A slice is a step of its own, and so is its batch of records: between two of them others are served.
A controller that falls meanwhile leaves nothing half done that matters: a broker is fenced, or
registered anew, only once it is out of every ISR, so the next controller begins where this one
stopped; and it looks for partitions without a leader when it begins. Who asked waits until the end.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
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
from kafkapy.kraft.controller.partitions.partition_change import Election
from kafkapy.kraft.controller.state import ControllerState, Located, Place, Sweep

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


def places_of(found: Iterable[Located]) -> tuple[Place, ...]:
    return tuple((at.topic.id, at.index) for at in found)


def one_slice(
    broker_id: int,
    found: Sequence[Located],
    *,
    removed: int = NO_NODE,
    unclean: int = NO_NODE,
    gives_up: bool = False,
    loses_some: bool = False,
) -> Sequence[Located]:
    """`found`, if they are few enough for one step; InSlices otherwise."""
    if len(found) > SLICE:
        raise InSlices(
            Sweep(
                broker_id,
                places_of(found),
                removed=removed,
                unclean=unclean,
                gives_up=gives_up,
                loses_some=loses_some,
            )
        )
    return found


def first_slice(found: list[Located]) -> tuple[list[Located], tuple[Place, ...]]:
    """And the rest."""
    return found[:SLICE], places_of(found[SLICE:])


def leaving(state: ControllerState, broker_id: int) -> list[Located]:
    """Partitions whose ISR the broker is to leave. Where it is the last of many, and leads no
    more, there is nothing to change, and they are left out: else it would never be done."""
    found = leadership.in_isr(state, broker_id)
    return found if len(found) <= SLICE else leadership.to_leave(found, broker_id)


def first_to_leave(
    state: ControllerState, broker_id: int
) -> tuple[list[Located], tuple[Place, ...]]:
    """The first slice of `leaving`, and the rest."""
    places = leadership.places_to_leave(state, broker_id)
    if len(places) <= SLICE:
        return first_slice(leaving(state, broker_id))
    first = (located(state, place) for place in places[:SLICE])
    return [at for at in first if at is not None], tuple(places[SLICE:])


def located(state: ControllerState, place: Place) -> Located | None:
    """The partition as it is now, unless it was deleted."""
    topic = state.image.topics_by_id.get(place[0])
    found = None if topic is None else topic.partitions.get(place[1])
    return None if topic is None or found is None else Located(topic, place[1], found)


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
        chunk = sweep.places[sweep.next : sweep.next + SLICE]
        records = self._records(sweep, chunk)
        return Step(
            records=tuple(records),
            notes=(SweptOn(sweep.about, len(chunk)), *self._shut_down_later(sweep, len(records))),
            timers={key: now},
        )

    def _is_over(self, sweep: Sweep) -> bool:
        """Done, or it is about a broker that is not what it was."""
        # Who comes back and is gone again takes over nothing more.
        is_gone = sweep.added != NO_NODE and not self._state.is_active(sweep.added)
        return self._is_back(sweep) or is_gone or sweep.next >= len(sweep.places)

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
        waiting, rest = first_slice(leadership.without_leader(self._state))
        records = leadership.updates(self._state, waiting, added=sweep.removed)
        step = replace(step, records=tuple(records))
        if not rest:
            return step
        notes, timers = begun(Sweep(sweep.about, rest, added=sweep.removed), now)
        return replace(step, notes=(*step.notes, *notes), timers={**step.timers, **timers})

    def _records(self, sweep: Sweep, chunk: Sequence[Place]) -> list[Fact]:
        found = [at for place in chunk if (at := located(self._state, place)) is not None]
        if sweep.election is None:
            return list(
                leadership.updates(
                    self._state,
                    found,
                    removed=sweep.removed,
                    added=sweep.added,
                    unclean=sweep.unclean,
                )
            )
        changes = [leadership.change(self._state, at, election=sweep.election) for at in found]
        return [one for one in changes if one is not None]

    def _shut_down_later(self, sweep: Sweep, count: int) -> tuple[Fact, ...]:
        """A broker that shuts down goes once the others know of all that was moved."""
        contact = self._state.contacts.get(sweep.removed)
        if contact is None or contact.shutdown_offset is None or not count:
            return ()
        last = self._state.next_offset + count - 1
        return (BrokerHeard(sweep.removed, contact._replace(shutdown_offset=last)),)


def election_step(
    state: ControllerState, about: Hashable, found: list[Located], election: Election, now: Instant
) -> Step[Fact, bool]:
    """Elections that are due by themselves. Answered with True if there is more to do."""
    if len(found) > SLICE:
        notes, timers = begun(Sweep(about, places_of(found), election=election), now)
        return Step(notes=notes, timers=timers, reply=True)
    changes = [leadership.change(state, at, election=election) for at in found]
    return Step(records=tuple(one for one in changes if one is not None), reply=False)
