"""Registration: a broker or controller tells who it is, where it listens, what it can do.

    new incarnation    epoch := offset of its record; it starts fenced; what its former
                       incarnation had in ISRs (and ELRs, unless it stopped cleanly) is gone
    same incarnation   amends its registration; epoch and fencing stay

KIP-631, KIP-858 (directories), KIP-919 (controllers), KIP-966 (unclean shutdown).
"""

from typing import Any, Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.brokers.liveness import cleaned_up
from kafkapy.kraft.controller.facts import BrokerSilent, ControllerStep, Fact
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.features import (
    CONTROLLER_REGISTRATION,
    DIRECTORY_ASSIGNMENT,
    KRAFT_VERSION,
    METADATA_VERSION,
)
from kafkapy.kraft.image.registrations import BrokerRegistration
from kafkapy.kraft.records.metadata import (
    Endpoint,
    FeatureRange,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from kafkapy.kraft.uuids import is_reserved_directory

_NOT_SUPPORTED: Final = (0, 0)


@dataclass(frozen=True, slots=True)
class RegisterBroker:
    """`previous_epoch` is the epoch under which it last stopped cleanly; None if its
    version does not tell (before BrokerRegistration 3)."""

    broker_id: int
    cluster_id: str
    incarnation_id: UUID
    endpoints: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...]
    rack: str | None = None
    log_dirs: tuple[UUID, ...] = ()
    previous_epoch: int | None = None
    is_migrating: bool = False


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    epoch: int


@dataclass(frozen=True, slots=True)
class RegisterController:
    controller_id: int
    incarnation_id: UUID
    endpoints: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...]


@dataclass(frozen=True, slots=True)
class ControllerRegistered:
    """Nothing more is said."""


RegistrationEvent = RegisterBroker | RegisterController


class RegistrationMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: RegistrationEvent, now: Instant) -> ControllerStep:
        match event:
            case RegisterBroker():
                return self._register(event, now)
            case RegisterController():
                return self._register_controller(event)

    def _register(self, event: RegisterBroker, now: Instant) -> Step[Fact, BrokerRegistered]:
        state = self._state
        if event.cluster_id != state.settings.cluster_id:
            raise Refused(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {state.settings.cluster_id}, but got cluster ID "
                f"{event.cluster_id}",
            )
        standing = state.image.brokers.get(event.broker_id)
        is_amendment = standing is not None and standing.incarnation_id == event.incarnation_id
        if not is_amendment and state.has_session(event.broker_id, now):
            raise Refused(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id and was heard of lately.",
            )
        if event.is_migrating:
            raise Refused(
                ErrorCode.BROKER_ID_NOT_REGISTERED,
                "Controller does not support registering ZK brokers.",
            )
        self._check_directories(event)
        self._check_features(event)
        return self._registered(event, standing if is_amendment else None)

    def _registered(
        self, event: RegisterBroker, standing: BrokerRegistration | None
    ) -> Step[Fact, BrokerRegistered]:
        fields: dict[str, Any] = {}
        records: list[Fact] = []
        if standing is None:
            # The offset that comes next, even if the clean-up below takes it: as Kafka.
            epoch = self._state.next_offset
            records += cleaned_up(self._state, event.broker_id, event.previous_epoch)
        else:
            epoch = standing.epoch
            fields["fenced"] = standing.fenced
            fields["in_controlled_shutdown"] = standing.in_controlled_shutdown
        records.append(
            RegisterBrokerRecord(
                broker_id=event.broker_id,
                incarnation_id=event.incarnation_id,
                broker_epoch=epoch,
                end_points=event.endpoints,
                features=event.features,
                rack=event.rack,
                log_dirs=event.log_dirs if self._knows_directories else (),
                **fields,
            )
        )
        notes = (BrokerSilent(event.broker_id),) if standing is None else ()
        return Step(records=tuple(records), notes=notes, reply=BrokerRegistered(epoch))

    @property
    def _knows_directories(self) -> bool:
        return self._state.image.metadata_version >= DIRECTORY_ASSIGNMENT

    def _check_directories(self, event: RegisterBroker) -> None:
        if not self._knows_directories:
            return
        why = None
        if not event.log_dirs:
            why = "No directories specified in request"
        elif any(is_reserved_directory(directory) for directory in event.log_dirs):
            why = "Reserved directory ID in request"
        elif len(set(event.log_dirs)) != len(event.log_dirs):
            why = "Duplicate directory ID in request"
        for broker in self._state.image.brokers.values():
            shared = set(broker.log_dirs) & set(event.log_dirs)
            if shared and broker.id != event.broker_id and why is None:
                why = f"Broker {broker.id} is already registered with directory {min(shared)}"
        if why is not None:
            raise Refused(ErrorCode.INVALID_REGISTRATION, why)

    def _check_features(self, event: RegisterBroker) -> None:
        """The broker must understand every level that the cluster has agreed on."""
        offered = {
            one.name: (one.min_supported_version, one.max_supported_version)
            for one in event.features
        }
        if METADATA_VERSION not in offered:
            raise Refused(
                ErrorCode.INVALID_REGISTRATION,
                "Request features do not contain 'metadata.version'",
            )
        finalized = dict.fromkeys(offered, 0) | self._state.image.features
        for name, level in finalized.items():
            lowest, highest = offered.get(name, _NOT_SUPPORTED)
            if name != KRAFT_VERSION and not lowest <= level <= highest:
                raise Refused(
                    ErrorCode.UNSUPPORTED_VERSION,
                    "Unable to register because the broker does not support finalized version "
                    f"{level} of {name}. The broker wants a version between {lowest} and "
                    f"{highest}, inclusive.",
                )

    def _register_controller(self, event: RegisterController) -> Step[Fact, ControllerRegistered]:
        if self._state.image.metadata_version < CONTROLLER_REGISTRATION:
            raise Refused(
                ErrorCode.UNSUPPORTED_VERSION,
                "The current MetadataVersion is too old to support controller registrations.",
            )
        record = RegisterControllerRecord(
            controller_id=event.controller_id,
            incarnation_id=event.incarnation_id,
            end_points=event.endpoints,
            features=event.features,
        )
        return Step(records=(record,), reply=ControllerRegistered())
