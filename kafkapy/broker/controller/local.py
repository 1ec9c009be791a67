"""The active controller in this process, as the broker half of the node calls it.

The same events go over the wire when the controller is another node (BrokerRegistration,
BrokerHeartbeat, AllocateProducerIds ...): the machines cannot tell.
"""

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from kafkapy.core.errors import Refused
from kafkapy.kraft.controller.brokers import BrokerHeartbeat, HeartbeatReply
from kafkapy.kraft.controller.controller import Controller
from kafkapy.kraft.controller.directories import AssignReplicas, ReplicaDirectory
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdBlock
from kafkapy.kraft.controller.registration import (
    BrokerRegistered,
    RegisterBroker,
    RegisterController,
)
from kafkapy.kraft.features import SUPPORTED_FEATURES
from kafkapy.kraft.records.metadata import Endpoint, FeatureRange

FEATURE_RANGES = tuple(
    FeatureRange(name=name, min_supported_version=low, max_supported_version=high)
    for name, (low, high) in SUPPORTED_FEATURES.items()
)


class LocalController:
    """Implements `lifecycle.ControllerLink`; keeps this broker's epoch for later calls."""

    def __init__(
        self,
        controller: Controller,
        *,
        broker_id: int,
        cluster_id: str,
        incarnation_id: UUID,
        endpoints: Sequence[Endpoint],
        controller_endpoints: Sequence[Endpoint],
        rack: str | None,
        log_dirs: Sequence[UUID],
        previous_epoch: int,
        metadata_offset: Callable[[], int],
        cordoned_dirs: Callable[[], tuple[UUID, ...]],
    ) -> None:
        self.epoch = -1
        self._controller = controller
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._incarnation_id = incarnation_id
        self._endpoints = tuple(endpoints)
        self._controller_endpoints = tuple(controller_endpoints)
        self._rack = rack
        self._log_dirs = tuple(sorted(log_dirs))
        self._previous_epoch = previous_epoch
        self._metadata_offset = metadata_offset
        self._cordoned_dirs = cordoned_dirs
        self.offline_dirs: tuple[UUID, ...] = ()

    def register_controller(self, then: Callable[[Refused | None], None]) -> None:
        event = RegisterController(
            self._broker_id, self._incarnation_id, self._controller_endpoints, FEATURE_RANGES
        )
        self._controller.submit(
            event, lambda answer: then(answer if isinstance(answer, Refused) else None)
        )

    def register(self, then: Callable[[int | Refused], None]) -> None:
        event = RegisterBroker(
            self._broker_id,
            self._cluster_id,
            self._incarnation_id,
            self._endpoints,
            FEATURE_RANGES,
            self._rack,
            self._log_dirs,
            self._previous_epoch,
        )

        def answered(answer: BrokerRegistered | Refused) -> None:
            if isinstance(answer, Refused):
                then(answer)
            else:
                self.epoch = answer.epoch
                then(answer.epoch)

        self._controller.submit(event, answered)

    def beat(
        self,
        *,
        want_fence: bool,
        want_shut_down: bool,
        then: Callable[[HeartbeatReply | Refused], None],
    ) -> None:
        event = BrokerHeartbeat(
            self._broker_id,
            self.epoch,
            self._metadata_offset(),
            want_fence,
            want_shut_down,
            self.offline_dirs,
            self._cordoned_dirs(),
        )
        self._controller.submit(event, then)

    def assign(self, replicas: Iterable[ReplicaDirectory]) -> None:
        """Say where replicas are (AssignReplicasToDirs). An answer is not waited for: what is
        refused was deleted meanwhile."""
        event = AssignReplicas(self._broker_id, self.epoch, tuple(replicas))
        if event.replicas:
            self._controller.submit(event, lambda answer: None)

    def allocate_producer_ids(self, then: Callable[[range | Refused], None]) -> None:
        def answered(answer: ProducerIdBlock | Refused) -> None:
            if isinstance(answer, Refused):
                then(answer)
            else:
                then(range(answer.first, answer.first + answer.count))

        self._controller.submit(AllocateProducerIds(self._broker_id, self.epoch), answered)
