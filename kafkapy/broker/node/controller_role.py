"""What makes a node a controller: the controller machine, and its registration.

    the quorum is won --> lead --> decide events ... --> the quorum is lost --> resign --+
           ^                                                                             |
           '-----------------------------------------------------------------------------'

Winning and losing touch the controller alone, as often as it happens. Whether it leads or
not, a controller registers with whichever is active (KIP-919), to be found by clients; it
does its work without, so starting does not wait for that.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kafkapy.broker.config.rules import BrokerConfigRules
from kafkapy.broker.controller.active import ActiveController
from kafkapy.broker.controller.dead_brokers import DeadBrokers
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.controller.remote import RemoteController
from kafkapy.broker.node.base import NodeBase, Role
from kafkapy.broker.node.broker_facts import FEATURE_RANGES
from kafkapy.broker.node.settings import controller_settings
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Callback, Timer
from kafkapy.core.time import later
from kafkapy.kraft.controller.brokers.registration import RegisterController
from kafkapy.kraft.controller.controller import Controller
from kafkapy.kraft.features import CONTROLLER_REGISTRATION, METADATA_VERSION
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import MetadataRecord

if TYPE_CHECKING:
    from kafkapy.kraft.controller.brokers.registration import ControllerRegistered

_RETRY_MS: Final = 50


class ControllerRole(Role):
    """`link` leads to the active controller; it is this one whenever that leads."""

    def __init__(self, base: NodeBase, remote: RemoteController) -> None:
        """`remote`: the way to a controller that leads elsewhere."""
        super().__init__(base)
        self.controller = Controller(
            settings=controller_settings(
                base.config, base.cluster_id, lambda: base.quorum.voters.ids
            ),
            rules=BrokerConfigRules(base.config),
            clock=base.clock,
            rng=base.rng,
            log=base.quorum,
        )
        self.dead_brokers = DeadBrokers(
            self.controller,
            base.network,
            base.clock,
            node_id=base.node_id,
            heartbeat_ms=base.config.broker_heartbeat_interval_ms,
        )
        self._local = LocalController(self)
        self.link = ActiveController(self._local, remote)
        # A broker in the same process puts its own here.
        self.when_serving: Callable[[Iterable[UUID], Callback], None] = _served_elsewhere
        self._incarnation_id = base.incarnation_id
        self._on_loaded = base.on_loaded
        self._timer: Timer | None = None
        self._is_stopped = False
        self._is_too_early = False
        self._told_refusal: ErrorCode | None = None  # once: it is tried again and again

    def start(self, then: Callback) -> None:
        """`then` once the image is loaded: who is asked now knows what there is."""
        self.quorum.on_lead = self._lead
        self.quorum.on_resign = self.controller.resign
        self.quorum.on_nobody_there = self.dead_brokers.refused
        self.quorum.on_hung_up = self.dead_brokers.hung_up
        self._on_loaded.append(then)
        self.quorum.subscribe(self._on_delta)
        self.link.when_active(self._register)

    def stop(self, then: Callback) -> None:
        """Whoever waits for an answer hears NOT_CONTROLLER."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self.controller.resign()
        then()

    def _lead(self, image: MetadataImage, bootstrap: Sequence[MetadataRecord]) -> None:
        if self._is_stopped:
            return
        self.controller.lead(image, bootstrap, kraft_version=self.quorum.kraft_version)
        self._local.activated()
        self.dead_brokers.leads()

    def _register(self) -> None:
        if self._is_stopped:
            return
        self._timer = None
        event = RegisterController(
            self.node_id, self._incarnation_id, self.endpoints.controller, FEATURE_RANGES
        )
        self.link.register_controller(event, self._registered)

    def _on_delta(self, image: MetadataImage, delta: Delta) -> None:
        if self._is_too_early and METADATA_VERSION in delta.features:
            self._is_too_early = False
            self.link.when_active(self._register)

    def _registered(self, answer: "ControllerRegistered | Refused") -> None:
        if not isinstance(answer, Refused) or self._is_stopped:
            return
        # An older metadata version has no registrations of controllers: it does without, until
        # there is another one. No feature could be raised then without them.
        self._is_too_early = (
            answer.code is ErrorCode.UNSUPPORTED_VERSION
            and self.image.metadata_version < CONTROLLER_REGISTRATION
        )
        if not self._is_too_early:
            if answer.code is not self._told_refusal:
                self._told_refusal = answer.code
                self.journal.warning("controller registration refused", reason=answer)
            again = later(self.clock.now(), _RETRY_MS)
            self._timer = self.clock.call_at(again, lambda: self.link.when_active(self._register))


def _served_elsewhere(_: Iterable[UUID], then: Callback) -> None:
    """No partition lives in this process: there is nothing to wait for."""
    then()
