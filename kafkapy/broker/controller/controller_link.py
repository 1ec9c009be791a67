"""The active controller as a node reaches it, wherever it is: the one way there.

    broker: Lifecycle, producer ids, auto topics, dispatch --+
                                                             +--> ControllerLink --> controller
    controller: its own registration ------------------------+

Events are those that the controller decides on (kraft/controller/). In the process they are
submitted as they are (local.py); over the wire they are the requests of the same names.
tests/broker/controller holds every implementation to what is promised here.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

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


class ControllerLink(Protocol):
    """Every `then` is called exactly once, with the reply once it is committed, or with
    Refused: NOT_CONTROLLER if there is no active controller (now, or any more). Questions
    reach the controller in the order in which they were asked."""

    def when_active(self, then: Callback) -> None:
        """`then` once a controller is active, at once if one is. It may have resigned again
        before the first question reaches it; whoever asks must be ready for NOT_CONTROLLER."""

    def register(
        self, event: "RegisterBroker", then: "Callable[[BrokerRegistered | Refused], None]"
    ) -> None: ...

    def register_controller(
        self, event: "RegisterController", then: "Callable[[ControllerRegistered | Refused], None]"
    ) -> None: ...

    def beat(
        self, event: "BrokerHeartbeat", then: "Callable[[HeartbeatReply | Refused], None]"
    ) -> None: ...

    def assign_directories(
        self, event: "AssignReplicas", then: "Callable[[AssignReply | Refused], None]"
    ) -> None: ...

    def allocate_producer_ids(
        self, event: "AllocateProducerIds", then: "Callable[[ProducerIdBlock | Refused], None]"
    ) -> None: ...

    def alter_partition(
        self, event: "AlterPartition", then: "Callable[[AlterPartitionReply | Refused], None]"
    ) -> None: ...

    def create_topics(
        self, event: "CreateTopics", then: "Callable[[CreateReply | Refused], None]"
    ) -> None:
        """Topics that this node wants for itself or its clients, not a client's request."""

    def forward(self, request: memoryview, call: Call[Any]) -> Answer:
        """A client's request that only the active controller may answer, decoded and as it
        came: over the wire those bytes and the client's principal go into an Envelope
        (KIP-590). `request` is only lent until this returns."""
