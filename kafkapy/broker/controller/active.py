"""The way to the active controller from a node that is a controller itself: in the process
while it leads the quorum, over the wire while another does.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.controller.remote import RemoteController
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import Refused
from kafkapy.core.seams import Callback

if TYPE_CHECKING:
    from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat, HeartbeatReply
    from kafkapy.kraft.controller.brokers.registration import (
        BrokerRegistered,
        ControllerRegistered,
        RegisterBroker,
        RegisterController,
    )
    from kafkapy.kraft.controller.partitions.directories import AssignReplicas, AssignReply
    from kafkapy.kraft.controller.partitions.isr import AlterPartition, AlterPartitionReply
    from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdBlock
    from kafkapy.kraft.controller.topics.changes import CreateReply, CreateTopics


class ActiveController:
    """Implements `ControllerLink`."""

    def __init__(self, local: LocalController, remote: RemoteController) -> None:
        self._local = local
        self._remote = remote

    @property
    def _link(self) -> ControllerLink:
        return self._local if self._local.is_active else self._remote

    def when_active(self, then: Callback) -> None:
        if self._local.is_active:
            then()
            return
        is_told = False

        def tell() -> None:
            nonlocal is_told
            if not is_told:
                is_told = True
                then()

        self._local.when_active(tell)
        self._remote.when_active(tell)

    def register(
        self, event: "RegisterBroker", then: "Callable[[BrokerRegistered | Refused], None]"
    ) -> None:
        self._link.register(event, then)

    def register_controller(
        self, event: "RegisterController", then: "Callable[[ControllerRegistered | Refused], None]"
    ) -> None:
        self._link.register_controller(event, then)

    def beat(
        self, event: "BrokerHeartbeat", then: "Callable[[HeartbeatReply | Refused], None]"
    ) -> None:
        self._link.beat(event, then)

    def assign_directories(
        self, event: "AssignReplicas", then: "Callable[[AssignReply | Refused], None]"
    ) -> None:
        self._link.assign_directories(event, then)

    def allocate_producer_ids(
        self, event: "AllocateProducerIds", then: "Callable[[ProducerIdBlock | Refused], None]"
    ) -> None:
        self._link.allocate_producer_ids(event, then)

    def alter_partition(
        self, event: "AlterPartition", then: "Callable[[AlterPartitionReply | Refused], None]"
    ) -> None:
        self._link.alter_partition(event, then)

    def create_topics(
        self, event: "CreateTopics", then: "Callable[[CreateReply | Refused], None]"
    ) -> None:
        self._link.create_topics(event, then)

    def forward(self, request: memoryview, call: "Call[Any]") -> Answer:
        return self._remote.forwarding(request, call, self._local)
