"""The active controller: one event at a time, decided, appended, applied, answered.

    submit(event, then) --> machine.decide --> append one batch --> apply to the image
                                                    |
                         then(reply)  <-- committed '

The image is written at the append, not at the commit: the next decision must see this
one. So every answer, also one without records, waits until all that was appended before
it is committed; what it says cannot be lost any more. If an append fails, or this node
stops leading, everybody who waits gets NOT_CONTROLLER and the image is dropped.

With a quorum of one an append may be committed before `append` returns; answers then
leave as soon as the records are applied, in the same order.
"""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Protocol

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock, Rng, Timer
from kafkapy.core.step import Step, TimerFired
from kafkapy.core.time import Instant, later
from kafkapy.kraft.controller.brokers import BrokerEvent, BrokerMachine, session_key
from kafkapy.kraft.controller.configs import ConfigEvent, ConfigMachine
from kafkapy.kraft.controller.directories import AssignReplicas, DirectoryMachine
from kafkapy.kraft.controller.elections import (
    BalanceLeaders,
    ElectionEvent,
    ElectionMachine,
    ElectUncleanly,
)
from kafkapy.kraft.controller.facts import BrokerHeard, BrokerSilent, Fact
from kafkapy.kraft.controller.features import FeatureMachine, UpdateFeatures
from kafkapy.kraft.controller.isr import AlterPartition, IsrMachine
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdMachine
from kafkapy.kraft.controller.reassignments import ReassignmentEvent, ReassignmentMachine
from kafkapy.kraft.controller.registration import RegistrationEvent, RegistrationMachine
from kafkapy.kraft.controller.rules import ConfigRules
from kafkapy.kraft.controller.state import ControllerSettings, ControllerState
from kafkapy.kraft.controller.topics import TopicEvent, TopicMachine
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import MetadataRecord, NoOpRecord, RegisterBrokerRecord
from kafkapy.kraft.storage.bootstrap import activation_records

Event = (
    TopicEvent
    | ConfigEvent
    | BrokerEvent
    | RegistrationEvent
    | AlterPartition
    | ElectionEvent
    | ReassignmentEvent
    | UpdateFeatures
    | AllocateProducerIds
    | AssignReplicas
)
Outcome = Any | Refused
Then = Callable[[Outcome], None]
Committed = Callable[[Refused | None], None]


class MetadataLog(Protocol):
    """What the controller asks of the quorum's leader."""

    @property
    def next_offset(self) -> int:
        """The offset that the next appended record gets."""

    def append(self, records: Sequence[MetadataRecord], then: Committed) -> None:
        """Append one batch; `then(None)` once it is committed, in the order of the
        appends, or `then(refused)`. Raises Refused if this node does not lead."""


class Machine(Protocol):
    def decide(self, event: Any, now: Instant) -> Step[Fact, Any]: ...


@dataclass(slots=True)
class _Waiting:
    """An answer that is held until everything before it is committed."""

    then: Then
    outcome: Outcome
    is_committed: bool
    is_applied: bool = False


_BALANCE: Final = "balance leaders"
_UNCLEAN: Final = "unclean elections"
_IDLE: Final = "idle"


class Controller:
    """Hand it the log and tell it when this node starts (`lead`) and stops (`resign`)
    leading the quorum."""

    def __init__(
        self,
        *,
        settings: ControllerSettings,
        rules: ConfigRules,
        clock: Clock,
        rng: Rng,
        log: MetadataLog,
    ) -> None:
        self.settings = settings
        self.is_active = False
        self._rules = rules
        self._clock = clock
        self._rng = rng
        self._log = log
        self._waiting: deque[_Waiting] = deque()
        self._timers: dict[Hashable, Timer] = {}
        self._term = 0
        self._forget()

    # -- terms -------------------------------------------------------------------------

    def lead(
        self,
        committed: MetadataImage,
        bootstrap: Sequence[MetadataRecord],
        *,
        kraft_version: int = 1,
    ) -> None:
        """This node leads the quorum and has read everything there is: `committed`.

        On an empty log the `bootstrap` records are written first. Every unfenced broker
        has a whole session to be heard of: nobody knows when it was last.
        """
        assert not self.is_active, "leads already"
        self._state.image = committed.copy()
        self._state.kraft_version = kraft_version
        self.is_active = True
        first = activation_records(
            self._state.image, bootstrap, self._rules.static_min_insync_replicas
        )
        if first and not self._append(first, _nothing):
            return
        now = self._clock.now()
        timeout = self.settings.session_timeout_ms
        for broker in self._state.image.brokers.values():
            if not broker.fenced:
                self._arm(session_key(broker.id), later(now, timeout))
        for key, interval in self._periods().items():
            self._arm(key, later(now, interval))

    def resign(self) -> None:
        """Another node leads, or none does."""
        if not self.is_active:
            return
        self.is_active = False
        self._term += 1
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        waiting, self._waiting = self._waiting, deque()
        self._forget()
        for one in waiting:
            one.then(Refused(ErrorCode.NOT_CONTROLLER))

    # -- events ------------------------------------------------------------------------

    def submit(self, event: Event, then: Then) -> None:
        """`then` gets the machine's reply, or Refused, once it cannot be lost any more."""
        if not self.is_active:
            then(Refused(ErrorCode.NOT_CONTROLLER))
            return
        self._state.next_offset = self._log.next_offset
        try:
            step = self._machine(event).decide(event, self._clock.now())
        except Refused as refused:
            self._answer(then, refused)
            return
        if step.records and not self._append(_records(step), then, step.reply):
            return
        for note in step.notes:
            self._note(note)
        for key, when in step.timers.items():
            self._arm(key, when)
        if not step.records:
            self._answer(then, step.reply)

    @property
    def image(self) -> MetadataImage:
        """What is decided so far, committed or not."""
        return self._state.image

    def _machine(self, event: Event) -> Machine:
        machine = self._machines.get(type(event))
        assert machine is not None, f"nobody decides on {event}"
        return machine

    def _append(self, records: Sequence[MetadataRecord], then: Then, reply: Outcome = None) -> bool:
        """Whether it was appended; if not, this node does not lead any more."""
        offset, term = self._log.next_offset, self._term
        waiting = _Waiting(then, reply, is_committed=False)
        self._waiting.append(waiting)

        def committed(refused: Refused | None) -> None:
            if term != self._term:
                return
            if refused is not None:
                self.resign()
                return
            waiting.is_committed = True
            self._let_out()

        try:
            self._log.append(records, committed)
        except Refused:
            self.resign()
            return False
        if term != self._term:
            return False
        self._apply(records, offset)
        waiting.is_applied = True
        self._let_out()
        return True

    def _apply(self, records: Sequence[MetadataRecord], offset: int) -> None:
        state, delta = self._state, Delta()
        for at, record in enumerate(records, offset):
            state.image.apply(record, delta)
            if isinstance(record, RegisterBrokerRecord):
                state.registered_at[record.broker_id] = at
        state.image.offset = offset + len(records) - 1
        self._arm_idle()

    def _note(self, note: Fact) -> None:
        if isinstance(note, BrokerHeard):
            self._state.contacts[note.broker_id] = note.contact
        elif isinstance(note, BrokerSilent):
            self._state.contacts.pop(note.broker_id, None)
        else:
            raise AssertionError(f"{note} is not a soft fact")

    def _answer(self, then: Then, outcome: Outcome) -> None:
        self._waiting.append(_Waiting(then, outcome, is_committed=True, is_applied=True))
        self._let_out()

    def _let_out(self) -> None:
        while self._waiting and self._waiting[0].is_committed and self._waiting[0].is_applied:
            first = self._waiting.popleft()
            first.then(first.outcome)

    # -- timers ------------------------------------------------------------------------

    def _arm(self, key: Hashable, when: Instant | None) -> None:
        standing = self._timers.pop(key, None)
        if standing is not None:
            standing.cancel()
        if when is not None:
            self._timers[key] = self._clock.call_at(when, lambda: self._fired(key))

    def _arm_idle(self) -> None:
        if self.settings.max_idle_interval_ms > 0:
            self._arm(_IDLE, later(self._clock.now(), self.settings.max_idle_interval_ms))

    def _fired(self, key: Hashable) -> None:
        self._timers.pop(key, None)
        if key == _IDLE:
            # It moves the brokers' offsets on: that is how they know that we are there.
            self._append([NoOpRecord()], _nothing)
        elif key == _BALANCE:
            self._repeat(key, BalanceLeaders())
        elif key == _UNCLEAN:
            self._repeat(key, ElectUncleanly())
        else:
            self.submit(TimerFired(key), _nothing)

    def _periods(self) -> dict[str, int]:
        periods = {_UNCLEAN: self.settings.unclean_election_interval_ms}
        if self.settings.balances_leaders:
            periods[_BALANCE] = self.settings.balance_interval_ms
        if self.settings.max_idle_interval_ms > 0:
            periods[_IDLE] = self.settings.max_idle_interval_ms
        return periods

    def _repeat(self, key: Hashable, event: ElectionEvent) -> None:
        """A periodic job that could not do all at once goes on at once."""

        def again(has_more: Outcome) -> None:
            if self.is_active:
                interval = 0 if has_more is True else self._periods()[str(key)]
                self._arm(key, later(self._clock.now(), interval))

        self.submit(event, again)

    def _forget(self) -> None:
        state = self._state = ControllerState(self.settings, self._rules, self._rng)
        topics, configs = TopicMachine(state), ConfigMachine(state)
        brokers, registration = BrokerMachine(state), RegistrationMachine(state)
        elections, reassignments = ElectionMachine(state), ReassignmentMachine(state)
        self._machines: dict[type, Machine] = {
            **dict.fromkeys(TopicEvent.__args__, topics),
            **dict.fromkeys(ConfigEvent.__args__, configs),
            **dict.fromkeys(BrokerEvent.__args__, brokers),
            **dict.fromkeys(RegistrationEvent.__args__, registration),
            **dict.fromkeys(ElectionEvent.__args__, elections),
            **dict.fromkeys(ReassignmentEvent.__args__, reassignments),
            AlterPartition: IsrMachine(state),
            UpdateFeatures: FeatureMachine(state),
            AllocateProducerIds: ProducerIdMachine(state),
            AssignReplicas: DirectoryMachine(state),
        }


def _records(step: Step[Fact, Any]) -> list[MetadataRecord]:
    records = []
    for record in step.records:
        assert not isinstance(record, BrokerHeard | BrokerSilent), record
        records.append(record)
    return records


def _nothing(outcome: Outcome) -> None:
    """Nobody asked."""
