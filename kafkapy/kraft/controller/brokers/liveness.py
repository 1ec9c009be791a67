"""The life of a registered broker: heartbeats, fencing, shutting down, leaving.

                 caught up, wants to serve                  wants to stop, leads something
    FENCED  -------------------------------->  UNFENCED  -----------------> SHUTTING DOWN
      ^  ^    <--- wants to, or is silent ---      |                              |
      |  '----- wants to stop, leads nothing ------'         leads nothing, others have
      '---------------------------------------------------   seen it: SHUT DOWN NOW --'

A fenced broker is in no ISR and leads nothing. formats/controller 1; KIP-631, KIP-841, KIP-858.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step, TimerFired
from kafkapy.core.time import Instant, later
from kafkapy.kraft.controller.facts import BrokerHeard, BrokerSilent, ControllerStep, Fact
from kafkapy.kraft.controller.partitions import leadership
from kafkapy.kraft.controller.partitions.index import ELIGIBLE, LAST, LEADERLESS, LEAVABLE
from kafkapy.kraft.controller.partitions.places import Places
from kafkapy.kraft.controller.partitions.sweeps import (
    begun,
    check_none_awaited,
    first_slice,
    leaving,
    one_slice,
)
from kafkapy.kraft.controller.state import Contact, ControllerState, Sweep
from kafkapy.kraft.features import CORDONED_LOG_DIRS, DIRECTORY_ASSIGNMENT
from kafkapy.kraft.image.registrations import BrokerRegistration
from kafkapy.kraft.records.metadata import BrokerRegistrationChangeRecord, UnregisterBrokerRecord

FENCE: Final = 1
UNFENCE: Final = -1
_SESSION: Final = "session"


@dataclass(frozen=True, slots=True)
class BrokerHeartbeat:
    """`cordoned_dirs` None: as before."""

    broker_id: int
    epoch: int
    metadata_offset: int
    wants_fence: bool
    wants_shutdown: bool = False
    offline_dirs: tuple[UUID, ...] = ()
    cordoned_dirs: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    broker_id: int


@dataclass(frozen=True, slots=True)
class BrokerDied:
    """Its process is not there, whoever looked says; `since` then nothing was heard of it."""

    broker_id: int
    epoch: int
    since: Instant


@dataclass(frozen=True, slots=True)
class DeathNoted:
    """Nothing more is said."""


@dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    """Nothing more is said."""


class Standing(Enum):
    FENCED = 0
    UNFENCED = 1
    SHUTTING_DOWN = 2
    SHUT_DOWN_NOW = 3


BrokerEvent = BrokerHeartbeat | UnregisterBroker | BrokerDied | TimerFired


def session_key(broker_id: int) -> Hashable:
    return (_SESSION, broker_id)


def is_session_key(key: Hashable) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and key[0] == _SESSION


class BrokerMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: BrokerEvent, now: Instant) -> ControllerStep:
        match event:
            case BrokerHeartbeat():
                return self._heartbeat(event, now)
            case UnregisterBroker():
                return self._unregister(event)
            case BrokerDied():
                return self._died(event)
            case TimerFired(key):
                assert isinstance(key, tuple), key
                return self._check_session(key[1], now)

    # -- heartbeats --------------------------------------------------------------------

    def _heartbeat(self, beat: BrokerHeartbeat, now: Instant) -> Step[Fact, HeartbeatReply]:
        broker = self._state.broker(beat.broker_id, beat.epoch)
        contact = self._state.contacts.get(broker.id)
        if contact is not None and contact.epoch != broker.epoch:
            contact = None
        standing = self._standing(broker, contact)
        wanted = self._next(standing, beat, contact)
        records, rest = self._records(broker, standing, wanted)
        records += self._directory_records(broker, beat)
        notes: tuple[Fact, ...] = ()
        timers: dict[Hashable, Instant | None] = {}
        if rest is not None:
            check_none_awaited(self._state, broker.id)
            notes, timers = begun(rest, now)
        reply = HeartbeatReply(
            is_caught_up=beat.metadata_offset >= self._registered_at(broker),
            is_fenced=wanted in (Standing.FENCED, Standing.SHUT_DOWN_NOW),
            should_shut_down=wanted is Standing.SHUT_DOWN_NOW,
        )
        if wanted is Standing.SHUT_DOWN_NOW:
            # It may come back under the same id at once.
            return Step(
                records=tuple(records),
                notes=(BrokerSilent(broker.id),),
                reply=reply,
                timers={session_key(broker.id): None},
            )
        heard = Contact(broker.epoch, now, beat.metadata_offset)
        if wanted is Standing.SHUTTING_DOWN:
            since = None if contact is None else contact.shutdown_offset
            last = self._state.next_offset + len(records) - 1
            heard = heard._replace(shutdown_offset=last if since is None else since)
        return Step(
            records=tuple(records),
            notes=(BrokerHeard(broker.id, heard), *notes),
            reply=reply,
            timers={
                session_key(broker.id): later(now, self._state.settings.session_timeout_ms),
                **timers,
            },
        )

    def _standing(self, broker: BrokerRegistration, contact: Contact | None) -> Standing:
        if broker.fenced:
            return Standing.FENCED
        is_leaving = contact is not None and contact.shutdown_offset is not None
        return Standing.SHUTTING_DOWN if is_leaving else Standing.UNFENCED

    def _next(self, standing: Standing, beat: BrokerHeartbeat, contact: Contact | None) -> Standing:
        if standing is Standing.SHUTTING_DOWN:
            assert contact is not None, beat
            assert contact.shutdown_offset is not None, contact
            if self._state.index.leads_any(beat.broker_id):
                return Standing.SHUTTING_DOWN
            if contact.shutdown_offset <= self._lowest_active_offset(beat.broker_id):
                return Standing.SHUT_DOWN_NOW
            return Standing.SHUTTING_DOWN
        if standing is Standing.FENCED:
            if beat.wants_shutdown:
                return Standing.SHUT_DOWN_NOW
            is_caught_up = beat.metadata_offset >= self._state.registered_at.get(
                beat.broker_id, beat.epoch
            )
            # Who was told to shut down comes back under a new registration only.
            broker = self._state.image.brokers[beat.broker_id]
            may_serve = (
                is_caught_up
                and not beat.wants_fence
                and not broker.in_controlled_shutdown
                and not self._lost(broker, beat)  # first it is noted what it cannot lead
            )
            return Standing.UNFENCED if may_serve else Standing.FENCED
        if beat.wants_fence:
            return Standing.SHUT_DOWN_NOW if beat.wants_shutdown else Standing.FENCED
        if beat.wants_shutdown:
            leads = self._state.index.leads_any(beat.broker_id)
            return Standing.SHUTTING_DOWN if leads else Standing.SHUT_DOWN_NOW
        return Standing.UNFENCED

    def _registered_at(self, broker: BrokerRegistration) -> int:
        return self._state.registered_at.get(broker.id, broker.epoch)

    def _lowest_active_offset(self, leaving: int) -> float:
        """How far the slowest of the brokers that stay has read."""
        lowest = float("inf")
        for broker in self._state.image.brokers.values():
            if broker.is_active and broker.id != leaving:
                contact = self._state.contacts.get(broker.id)
                lowest = min(lowest, -1 if contact is None else contact.metadata_offset)
        return lowest

    def _records(
        self, broker: BrokerRegistration, standing: Standing, wanted: Standing
    ) -> tuple[list[Fact], Sweep | None]:
        """And what is left for later, if that is much."""
        if standing is wanted or (broker.fenced and wanted is Standing.SHUT_DOWN_NOW):
            return [], None
        if wanted is Standing.UNFENCED:
            return self._serving(broker)
        if wanted is Standing.SHUTTING_DOWN:
            return self._leaving(broker)
        return fenced(self._state, broker), None

    def _serving(self, broker: BrokerRegistration) -> tuple[list[Fact], Sweep | None]:
        """It leads again what nobody leads."""
        leaderless = self._state.index.places(LEADERLESS)
        waiting, rest = first_slice(self._state, leaderless)
        records: list[Fact] = [
            BrokerRegistrationChangeRecord(
                broker_id=broker.id, broker_epoch=broker.epoch, fenced=UNFENCE
            ),
            *leadership.updates(self._state, waiting, added=broker.id),
        ]
        if rest is None:
            return records, None
        return records, Sweep(broker.id, leaderless, added=broker.id, next=rest)

    def _leaving(self, broker: BrokerRegistration) -> tuple[list[Fact], Sweep | None]:
        """Marked first: nobody takes it into an ISR again."""
        records: list[Fact] = []
        if not broker.in_controlled_shutdown:
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=1
                )
            )
        places = leaving(self._state, broker.id)
        there, rest = first_slice(self._state, places)
        records += leadership.updates(self._state, there, removed=broker.id)
        if rest is None:
            return records, None
        return records, Sweep(broker.id, places, removed=broker.id, next=rest)

    # -- directories -------------------------------------------------------------------

    def _directory_records(self, broker: BrokerRegistration, beat: BrokerHeartbeat) -> list[Fact]:
        version = self._state.image.metadata_version
        records: list[Fact] = []
        lost = self._lost(broker, beat)
        if lost:
            places = self._places_in(broker.id, lost)
            there = one_slice(self._state, broker.id, places, removed=broker.id, loses_some=True)
            records += leadership.updates(self._state, there, removed=broker.id)
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id,
                    broker_epoch=broker.epoch,
                    log_dirs=tuple(one for one in broker.log_dirs if one not in lost),
                )
            )
        cordoned = beat.cordoned_dirs
        if (
            cordoned is not None
            and version >= CORDONED_LOG_DIRS
            and (broker.cordoned_log_dirs is None or set(cordoned) != set(broker.cordoned_log_dirs))
        ):
            records.append(
                BrokerRegistrationChangeRecord(
                    broker_id=broker.id,
                    broker_epoch=broker.epoch,
                    cordoned_log_dirs=tuple(sorted(cordoned)),
                )
            )
        return records

    def _lost(self, broker: BrokerRegistration, beat: BrokerHeartbeat) -> set[UUID]:
        """Directories that it has, as far as the metadata knows, and says that they are gone."""
        if self._state.image.metadata_version < DIRECTORY_ASSIGNMENT:
            return set()
        return set(broker.log_dirs) & set(beat.offline_dirs)

    def _places_in(self, broker_id: int, directories: set[UUID]) -> Places:
        topics = self._state.image.topics_by_id
        return Places.of(
            (topic_id, index)
            for topic_id, index in leaving(self._state, broker_id)
            if topics[topic_id].partitions[index].directory(broker_id) in directories
        )

    # -- silence, leaving --------------------------------------------------------------

    def _check_session(self, broker_id: int, now: Instant) -> ControllerStep:
        broker = self._state.image.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return Step()
        contact = self._state.contacts.get(broker_id)
        if contact is not None and contact.epoch == broker.epoch:
            end = later(contact.last_heard, self._state.settings.session_timeout_ms)
            if end > now:
                return Step(timers={session_key(broker_id): end})
        records = fenced(self._state, broker, gives_up=True)
        return Step(records=tuple(records), notes=(BrokerSilent(broker_id),))

    def _died(self, event: BrokerDied) -> Step[Fact, DeathNoted]:
        """As at the end of its session, which is over: its next incarnation may register."""
        broker = self._state.image.brokers.get(event.broker_id)
        is_awaited = self._state.is_awaited(event.broker_id, event.since)
        if broker is None or broker.epoch != event.epoch or not is_awaited:
            return Step(reply=DeathNoted())
        return Step(
            records=() if broker.fenced else tuple(fenced(self._state, broker, gives_up=True)),
            notes=(BrokerSilent(broker.id),),
            reply=DeathNoted(),
            timers={session_key(broker.id): None},
        )

    def _unregister(self, event: UnregisterBroker) -> Step[Fact, BrokerUnregistered]:
        broker = self._state.image.brokers.get(event.broker_id)
        if broker is None:
            raise Refused(
                ErrorCode.BROKER_ID_NOT_REGISTERED,
                f"Broker ID {event.broker_id} is not currently registered",
            )
        gone = UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
        return Step(
            records=(*_out_of_everything(self._state, broker.id), gone),
            notes=(BrokerSilent(broker.id),),
            reply=BrokerUnregistered(),
            timers={session_key(broker.id): None},
        )


def fenced(
    state: ControllerState, broker: BrokerRegistration, *, gives_up: bool = False
) -> list[Fact]:
    """It leaves every ISR, others lead what it led. InSlices if that is much."""
    places = leaving(state, broker.id)
    there = one_slice(state, broker.id, places, removed=broker.id, gives_up=gives_up)
    return [
        *leadership.updates(state, there, removed=broker.id),
        BrokerRegistrationChangeRecord(
            broker_id=broker.id, broker_epoch=broker.epoch, fenced=FENCE
        ),
    ]


def cleaned_up(state: ControllerState, broker_id: int, previous_epoch: int | None) -> list[Fact]:
    """What becomes of a broker's places when a new incarnation of it registers. If it did
    not stop cleanly it may have lost what it acknowledged: it leaves the ELR as well."""
    standing = state.image.brokers.get(broker_id)
    stood_under = -2 if standing is None else standing.epoch
    was_clean = previous_epoch is None or previous_epoch == stood_under
    if state.elr_enabled and not was_clean:
        return _out_of_everything(state, broker_id)
    there = one_slice(state, broker_id, leaving(state, broker_id), removed=broker_id)
    return list(leadership.updates(state, there, removed=broker_id))


def _out_of_everything(state: ControllerState, broker_id: int) -> list[Fact]:
    # Without ELR the last in sync stays it: there is nothing to change, however often one looks.
    last = (LAST,) if state.elr_enabled else ()
    places = state.index.places(LEAVABLE, *last, ELIGIBLE, broker=broker_id)
    there = one_slice(state, broker_id, places, unclean=broker_id)
    return list(leadership.updates(state, there, unclean=broker_id))
