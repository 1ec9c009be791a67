"""What a broker tells the active controller of itself: events with this broker's name on them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from uuid import UUID

from kafkapy.broker.node.base import NodeBase
from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat
from kafkapy.kraft.controller.brokers.registration import RegisterBroker
from kafkapy.kraft.controller.partitions.directories import AssignReplicas, ReplicaDirectory
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds
from kafkapy.kraft.features import DIRECTORY_ASSIGNMENT, SUPPORTED_FEATURES
from kafkapy.kraft.records.metadata import FeatureRange

FEATURE_RANGES: Final = tuple(
    FeatureRange(name=name, min_supported_version=low, max_supported_version=high)
    for name, (low, high) in SUPPORTED_FEATURES.items()
)
NOT_REGISTERED: Final = -1


class BrokerFacts:
    """`epoch` is what the controller gave this broker at its registration."""

    def __init__(
        self,
        base: NodeBase,
        directory_ids: Mapping[str, UUID],
        previous_epoch: int,
        cordoned_dirs: Callable[[], tuple[UUID, ...]],
    ) -> None:
        self.epoch = NOT_REGISTERED
        self.offline_dirs: tuple[UUID, ...] = ()
        self._base = base
        self._log_dirs = tuple(sorted(directory_ids.values()))
        self._previous_epoch = previous_epoch
        self._cordoned_dirs = cordoned_dirs

    @property
    def is_registered(self) -> bool:
        return self.epoch != NOT_REGISTERED

    @property
    def lacks_directories(self) -> bool:
        """It registered when a registration could not have them, and now it can (KIP-858)."""
        image = self._base.image
        known = image.brokers.get(self._base.node_id)
        return (
            image.metadata_version >= DIRECTORY_ASSIGNMENT
            and known is not None
            and known.epoch == self.epoch
            and not known.log_dirs
        )

    @property
    def is_displaced(self) -> bool:
        """Another incarnation has registered since: the request of a process of before came late,
        or somebody has this broker's id. Who was unregistered is not displaced, but told to go."""
        base = self._base
        known = base.image.brokers.get(base.node_id)
        return (
            known is not None
            and known.epoch > self.epoch
            and known.incarnation_id != base.incarnation_id
        )

    def registration(self) -> RegisterBroker:
        base = self._base
        return RegisterBroker(
            base.node_id,
            base.cluster_id,
            base.incarnation_id,
            base.endpoints.broker,
            FEATURE_RANGES,
            base.config.broker_rack,
            self._log_dirs,
            self._previous_epoch,
        )

    def heartbeat(self, *, wants_fence: bool, wants_shutdown: bool) -> BrokerHeartbeat:
        return BrokerHeartbeat(
            self._base.node_id,
            self.epoch,
            self._base.image.offset,
            wants_fence,
            wants_shutdown,
            self.offline_dirs,
            self._cordoned_dirs(),
        )

    def assignment(self, replicas: Iterable[ReplicaDirectory]) -> AssignReplicas:
        """Where replicas of this broker are."""
        return AssignReplicas(self._base.node_id, self.epoch, tuple(replicas))

    def isr_changes(self, changes: tuple[NewIsr, ...]) -> AlterPartition:
        """Who is in sync with this broker, of partitions that it leads."""
        return AlterPartition(self._base.node_id, self.epoch, changes)

    def allocation(self) -> AllocateProducerIds:
        return AllocateProducerIds(self._base.node_id, self.epoch)
