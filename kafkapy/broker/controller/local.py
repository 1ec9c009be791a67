"""The way to the active controller when it is this process.

While this one does not lead the quorum everybody hears NOT_CONTROLLER (active.py goes over the
wire then).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.apis import find_api
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.needs import check
from kafkapy.core.errors import Refused
from kafkapy.core.seams import Callback

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasAuthorizer, HasController
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

    class Serves(HasAuthorizer, HasController, Protocol): ...


class LocalController:
    """Implements `ControllerLink`. `activated` is to be called whenever the controller has
    begun to lead."""

    def __init__(self, role: "Serves") -> None:
        self._role = role
        self._controller = role.controller
        self._waiting: list[Callback] = []

    @property
    def is_active(self) -> bool:
        return self._controller.is_active

    def when_active(self, then: Callback) -> None:
        if self._controller.is_active:
            then()
        else:
            self._waiting.append(then)

    def activated(self) -> None:
        waiting, self._waiting = self._waiting, []
        for then in waiting:
            self.when_active(then)  # one of them may have made it resign

    def register(
        self, event: "RegisterBroker", then: "Callable[[BrokerRegistered | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def register_controller(
        self, event: "RegisterController", then: "Callable[[ControllerRegistered | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def beat(
        self, event: "BrokerHeartbeat", then: "Callable[[HeartbeatReply | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def assign_directories(
        self, event: "AssignReplicas", then: "Callable[[AssignReply | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def allocate_producer_ids(
        self, event: "AllocateProducerIds", then: "Callable[[ProducerIdBlock | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def alter_partition(
        self, event: "AlterPartition", then: "Callable[[AlterPartitionReply | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def create_topics(
        self, event: "CreateTopics", then: "Callable[[CreateReply | Refused], None]"
    ) -> None:
        self._controller.submit(event, then)

    def forward(self, request: memoryview, call: Call[Any]) -> Answer:
        """No Envelope is needed: the controller's handler is given the request as it is. Refused
        if the client may not ask for it."""
        api = find_api(call.api_key, is_controller=True)
        assert api is not None, ("forwarded, and not served there", call.api_key)
        if self._role.authorizer is not None:
            check(self._role, api.permission, call)
        return api.handle(self._role, call)
