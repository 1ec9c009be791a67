"""What the image knows of nodes: registered brokers and controllers.

A registration is never changed: a change makes a new one. formats/metadata 2, formats/controller 1.
"""

from typing import NamedTuple
from uuid import UUID

from kafkapy.kraft.records.metadata import (
    BrokerRegistrationChangeRecord,
    Endpoint,
    FeatureRange,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)


class BrokerRegistration(NamedTuple):
    """`epoch` is the offset of the broker's RegisterBrokerRecord."""

    id: int
    epoch: int
    incarnation_id: UUID
    endpoints: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[UUID, ...]
    cordoned_log_dirs: tuple[UUID, ...] | None

    @property
    def is_active(self) -> bool:
        """May lead partitions and be in their ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    def to_record(self) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(
            broker_id=self.id,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=self.endpoints,
            features=self.features,
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=self.log_dirs,
            cordoned_log_dirs=self.cordoned_log_dirs,
        )

    def changed(self, record: BrokerRegistrationChangeRecord) -> "BrokerRegistration":
        return self._replace(
            fenced=self.fenced if record.fenced == 0 else record.fenced > 0,
            in_controlled_shutdown=self.in_controlled_shutdown or record.in_controlled_shutdown > 0,
            log_dirs=record.log_dirs or self.log_dirs,
            cordoned_log_dirs=(
                self.cordoned_log_dirs
                if record.cordoned_log_dirs is None
                else record.cordoned_log_dirs
            ),
        )


class ControllerRegistration(NamedTuple):
    id: int
    incarnation_id: UUID
    endpoints: tuple[Endpoint, ...]
    features: tuple[FeatureRange, ...]

    def to_record(self) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            end_points=self.endpoints,
            features=self.features,
        )


def broker_from(record: RegisterBrokerRecord) -> BrokerRegistration:
    return BrokerRegistration(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        record.end_points,
        record.features,
        record.rack,
        record.fenced,
        record.in_controlled_shutdown,
        record.log_dirs,
        record.cordoned_log_dirs,
    )


def controller_from(record: RegisterControllerRecord) -> ControllerRegistration:
    return ControllerRegistration(
        record.controller_id, record.incarnation_id, record.end_points, record.features
    )
