"""The way to the active controller over the wire, wherever the quorum has it.

Heartbeats have a connection of their own, so that what takes the controller longer never
costs a broker its session. Whatever goes wrong on the way, a question is answered: with
NOT_CONTROLLER, and whoever asked asks again once a controller is known.
"""

from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol

from kafkapy.broker.controller.forwarding import Forwarding
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.controller.questions import QUESTIONS
from kafkapy.broker.peers.connection import PeerSettings
from kafkapy.broker.peers.connections import Connections
from kafkapy.broker.peers.failures import CallFailed
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.addresses import Address
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.network import Network
from kafkapy.core.seams import Callback, Clock, Rng
from kafkapy.protocol.api_keys import ApiKey

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


class KnowsController(Protocol):
    """What the metadata quorum tells of its leader (kraft/metadata_quorum.py)."""

    @property
    def leader_id(self) -> int | None: ...

    def when_led(self, then: Callback) -> None:
        """`then` whenever another leader is known, for ever."""


class _Lane(Enum):
    HEARTBEATS = auto()
    FORWARDING = auto()
    OTHERS = auto()


class RemoteController:
    """Implements `ControllerLink`."""

    def __init__(
        self,
        quorum: KnowsController,
        address_of: Callable[[int], Address | None],
        network: Network,
        clock: Clock,
        rng: Rng,
        *,
        node_id: int,
        listener: str,
        settings: PeerSettings,
        request_timeout_ms: int,
    ) -> None:
        self._quorum = quorum
        self._node_id = node_id
        self._address_of = address_of
        self._clock = clock
        self._request_timeout_ms = request_timeout_ms
        self._connections: Connections[_Lane] = Connections(
            network, clock, rng, listener=listener, settings=settings
        )
        self._waiting: list[Callback] = []
        quorum.when_led(self._led)

    def when_active(self, then: Callback) -> None:
        if self._address() is not None:
            then()
        else:
            self._waiting.append(then)

    def close(self) -> None:
        self._connections.close()

    def _led(self) -> None:
        """Whoever led before need not answer any more: it may be paused, or cut off."""
        address = self._address()
        self._connections.drop_unless_at(address)
        if address is not None:
            waiting, self._waiting = self._waiting, []
            for then in waiting:
                self._clock.call_soon(then)

    # Questions of this node.

    def register(
        self, event: "RegisterBroker", then: "Callable[[BrokerRegistered | Refused], None]"
    ) -> None:
        self._ask(event, then)

    def register_controller(
        self, event: "RegisterController", then: "Callable[[ControllerRegistered | Refused], None]"
    ) -> None:
        self._ask(event, then)

    def beat(
        self, event: "BrokerHeartbeat", then: "Callable[[HeartbeatReply | Refused], None]"
    ) -> None:
        self._ask(event, then, _Lane.HEARTBEATS)

    def assign_directories(
        self, event: "AssignReplicas", then: "Callable[[AssignReply | Refused], None]"
    ) -> None:
        self._ask(event, then)

    def allocate_producer_ids(
        self, event: "AllocateProducerIds", then: "Callable[[ProducerIdBlock | Refused], None]"
    ) -> None:
        self._ask(event, then)

    def alter_partition(
        self, event: "AlterPartition", then: "Callable[[AlterPartitionReply | Refused], None]"
    ) -> None:
        self._ask(event, then)

    def create_topics(
        self, event: "CreateTopics", then: "Callable[[CreateReply | Refused], None]"
    ) -> None:
        self._ask(event, then)

    def _ask(self, event: Any, then: Callable[[Any], None], lane: _Lane = _Lane.OTHERS) -> None:
        question = QUESTIONS[type(event)]

        def answered(answer: Any) -> None:
            if isinstance(answer, CallFailed):
                then(_not_there(answer))
                return
            try:
                reply = question.reply(event, answer)
            except Refused as refused:
                reply = refused
            except Corrupt as nonsense:
                reply = _not_there(nonsense)
            then(reply)

        connection = self._connections.to(lane, self._address())
        if connection is None:
            self._clock.call_soon(lambda: then(_not_there("nobody leads the quorum")))
            return
        connection.call(
            question.api,
            question.fields(event),
            answered,
            versions=question.versions,
            timeout_ms=self._request_timeout_ms,
        )

    # Requests of clients.

    def forward(self, request: memoryview, call: "Call[Any]") -> Answer:
        return self.forwarding(request, call, None)

    def forwarding(
        self, request: memoryview, call: "Call[Any]", local: LocalController | None
    ) -> Answer:
        """`local`: a controller of this process, which may come to lead meanwhile."""
        return Forwarding(
            request,
            call,
            remote=self,
            local=local,
            clock=self._clock,
            timeout_ms=self._request_timeout_ms,
        ).begin()

    def send_envelope(self, fields: Any, then: Callable[[Any], None], timeout_ms: int) -> None:
        """`then` gets the response, or CallFailed; at once None if nobody leads."""
        connection = self._connections.to(_Lane.FORWARDING, self._address())
        if connection is None:
            then(None)
        else:
            connection.call(ApiKey.ENVELOPE, fields, then, versions=(0, 0), timeout_ms=timeout_ms)

    def _address(self) -> Address | None:
        """Of whoever leads now."""
        leader_id = self._quorum.leader_id
        if leader_id is None or leader_id == self._node_id:
            return None
        return self._address_of(leader_id)


def _not_there(why: object) -> Refused:
    return Refused(ErrorCode.NOT_CONTROLLER, str(why))
