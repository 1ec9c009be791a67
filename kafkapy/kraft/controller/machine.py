"""The controller as one machine: which part decides on an event, and what follows by itself.

    event --> topics | configs | brokers | elections | ... --> Step
    Loaded --> a new cluster's first records, every broker's session, the periodic jobs

The parts decide; here their records and notes are applied, to the image and to what brokers
last said.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

from kafkapy.core.step import Loaded, Step, TimerFired
from kafkapy.core.time import Instant, later
from kafkapy.kraft.controller.access.acls import AclEvent, AclMachine
from kafkapy.kraft.controller.access.client_quotas import AlterClientQuotas, ClientQuotaMachine
from kafkapy.kraft.controller.access.delegation_tokens import (
    DelegationTokenMachine,
    SweepTokens,
    TokenEvent,
)
from kafkapy.kraft.controller.access.scram import AlterScram, ScramMachine
from kafkapy.kraft.controller.brokers.liveness import BrokerEvent, BrokerMachine, session_key
from kafkapy.kraft.controller.brokers.registration import RegistrationEvent, RegistrationMachine
from kafkapy.kraft.controller.configs import ConfigEvent, ConfigMachine
from kafkapy.kraft.controller.facts import (
    BrokerHeard,
    BrokerSilent,
    ControllerStep,
    Fact,
    IndexRead,
    KRaftVersionRaised,
    SweepBegun,
    SweepEnded,
    SweepFact,
    SweptOn,
)
from kafkapy.kraft.controller.features import FeatureMachine, UpdateFeatures
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, DirectoryMachine
from kafkapy.kraft.controller.partitions.elections import (
    BalanceLeaders,
    ElectionEvent,
    ElectionMachine,
    ElectUncleanly,
)
from kafkapy.kraft.controller.partitions.index import BUILT_AT_ONCE, LEADERLESS
from kafkapy.kraft.controller.partitions.isr import AlterPartition, IsrMachine
from kafkapy.kraft.controller.partitions.partition_change import Election
from kafkapy.kraft.controller.partitions.reassignments import ReassignmentEvent, ReassignmentMachine
from kafkapy.kraft.controller.partitions.sweeps import InSlices, Sweeps, election_step, is_sweep_key
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdMachine
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.controller.topics.changes import TopicEvent, TopicMachine
from kafkapy.kraft.image.delta import Delta
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
    | AclEvent
    | AlterClientQuotas
    | AlterScram
    | TokenEvent
)


class Part(Protocol):
    def decide(self, event: Any, now: Instant) -> ControllerStep: ...


class _Job(NamedTuple):
    """An event that comes every so often."""

    event: ElectionEvent | SweepTokens
    interval_ms: int


# In the log: the version and the voters.
KRAFT_VERSION_RECORDS: Final = 2

_BALANCE: Final = "balance leaders"
_UNCLEAN: Final = "unclean elections"
_TOKENS: Final = "expired tokens"
_IDLE: Final = "idle"
_INDEX: Final = "index of partitions"


class ControllerMachine:
    """`next_offset`: where the log's next record goes; `bootstrap`: what an empty one gets."""

    def __init__(
        self,
        state: ControllerState,
        bootstrap: Sequence[MetadataRecord],
        next_offset: Callable[[], int],
    ) -> None:
        self.state = state
        self._bootstrap = bootstrap
        self._next_offset = next_offset
        self._jobs = _jobs(state)
        topics, configs = TopicMachine(state), ConfigMachine(state)
        brokers, registration = BrokerMachine(state), RegistrationMachine(state)
        elections, reassignments = ElectionMachine(state), ReassignmentMachine(state)
        self._sweeps = Sweeps(state, self._part_decides)
        self._parts: dict[type, Part] = {
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
            **dict.fromkeys(AclEvent.__args__, AclMachine(state)),
            AlterClientQuotas: ClientQuotaMachine(state),
            AlterScram: ScramMachine(state),
            **dict.fromkeys(TokenEvent.__args__, DelegationTokenMachine(state)),
        }

    def decide(self, event: Event | Loaded, now: Instant, wall: Instant) -> ControllerStep:
        # Both are given from outside as `now` is. Of all that the metadata says only tokens end by
        # the time of day; control records move the log's end without us.
        self.state.wall = wall
        self.state.next_offset = self._next_offset()
        step = self._decide(event, now)
        if not step.records:
            return step
        return replace(step, timers={**step.timers, **self._idle_timer(now)})

    def apply(self, fact: Fact) -> None:
        state = self.state
        if isinstance(fact, BrokerHeard):
            state.contacts[fact.broker_id] = fact.contact
        elif isinstance(fact, BrokerSilent):
            state.contacts.pop(fact.broker_id, None)
        elif isinstance(fact, SweepFact):
            self._apply_sweep(fact)
        elif isinstance(fact, KRaftVersionRaised):
            state.kraft_version = fact.level
            state.next_offset += KRAFT_VERSION_RECORDS
        elif isinstance(fact, IndexRead):
            state.index.build(fact.count)
        else:
            delta = Delta()
            state.image.apply(fact, delta)
            state.index.follow(delta)
            state.image.offset = state.next_offset
            if isinstance(fact, RegisterBrokerRecord):
                state.registered_at[fact.broker_id] = state.next_offset
            state.next_offset += 1

    def _apply_sweep(self, fact: SweepFact) -> None:
        sweeps = self.state.sweeps
        match fact:
            case SweepBegun(sweep):
                sweeps[sweep.about] = sweep
            case SweptOn(about, cursor):
                sweeps[about] = replace(sweeps[about], next=cursor)
            case SweepEnded(about):
                sweeps.pop(about, None)

    def _decide(self, event: Event | Loaded, now: Instant) -> ControllerStep:
        if isinstance(event, Loaded):
            return self._begin(now)
        if isinstance(event, TimerFired):
            if event.key == _IDLE:
                # It moves the brokers' offsets on: that is how they know that we are there.
                return Step(records=(NoOpRecord(),))
            if event.key == _INDEX:
                return self._index_further(now)
            if is_sweep_key(event.key):
                return self._sweeps.go_on(event.key, now)
            job = self._jobs.get(event.key)
            if job is not None:
                return self._do(event.key, job, now)
        try:
            return self._part_decides(event, now)
        except InSlices as many:
            return self._sweeps.begin(many, event, now)

    def _part_decides(self, event: Event, now: Instant) -> ControllerStep:
        part = self._parts.get(type(event))
        assert part is not None, f"nobody decides on {event}"
        return part.decide(event, now)

    def _begin(self, now: Instant) -> ControllerStep:
        """Every unfenced broker has a whole session to be heard of: nobody knows when it was
        last."""
        state = self.state
        session_end = later(now, state.settings.session_timeout_ms)
        timers: dict[Hashable, Instant | None] = {
            session_key(broker.id): session_end
            for broker in state.image.brokers.values()
            if not broker.fenced
        }
        timers.update({key: later(now, job.interval_ms) for key, job in self._jobs.items()})
        indexed = self._index_further(now)
        timers.update(indexed.timers)
        first = activation_records(
            state.image, self._bootstrap, state.rules.static_min_insync_replicas
        )
        return Step(
            records=(*first, *indexed.records),
            notes=indexed.notes,
            timers={**timers, **self._idle_timer(now)},
        )

    def _index_further(self, now: Instant) -> ControllerStep:
        """In the end: the controller before may have fallen while it looked for leaders."""
        state = self.state
        if not state.index.is_complete:
            return Step(notes=(IndexRead(BUILT_AT_ONCE),), timers={_INDEX: now})
        leaderless = state.index.places(LEADERLESS)
        return election_step(state, "no leader", leaderless, Election.ONLINE, now)

    def _do(self, key: Hashable, job: _Job, now: Instant) -> ControllerStep:
        step = self._parts[type(job.event)].decide(job.event, now)
        return replace(step, timers={**step.timers, key: later(now, job.interval_ms)})

    def _idle_timer(self, now: Instant) -> Mapping[Hashable, Instant]:
        interval_ms = self.state.settings.max_idle_interval_ms
        return {_IDLE: later(now, interval_ms)} if interval_ms > 0 else {}


def _jobs(state: ControllerState) -> dict[Hashable, _Job]:
    settings = state.settings
    jobs: dict[Hashable, _Job] = {
        _UNCLEAN: _Job(ElectUncleanly(), settings.unclean_election_interval_ms)
    }
    if settings.balances_leaders:
        jobs[_BALANCE] = _Job(BalanceLeaders(), settings.balance_interval_ms)
    if settings.tokens.secret is not None:
        jobs[_TOKENS] = _Job(SweepTokens(), settings.tokens.expiry_check_interval_ms)
    return jobs
