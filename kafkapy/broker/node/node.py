"""One node: what every node has, and the roles that its settings give it (process.roles).

    start    roles get ready -> the quorum is started -> each role goes on when it can
    stop     the broker, as long as there is a controller to hand over to -> the controller
             -> the quorum

Starting is not a chain through the quorum: a broker waits for a controller wherever it is
(broker_role.py), a controller for the quorum to be won (controller_role.py), and requests of
others that the quorum needs are answered from the beginning.
"""

from collections.abc import Mapping
from functools import partial

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.controller.remote import RemoteController
from kafkapy.broker.node.base import NodeBase, StartsAndStops
from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.broker.node.controller_role import ControllerRole
from kafkapy.broker.node.settings import peer_settings
from kafkapy.broker.security.fetching import Fetch, no_fetch
from kafkapy.core.errors import DiskFailed
from kafkapy.core.network import Network, NoNetwork
from kafkapy.core.seams import Callback, Clock, Disk, Journal, Rng
from kafkapy.core.turn import Turn
from kafkapy.hooks.source import NO_HOOKS, HookSource


class Node(NodeBase):
    """Made once per process (or per test, or per simulated node); `start`, then `stop`."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
        bound_ports: Mapping[str, int],
        network: Network | None = None,
        host: str = "127.0.0.1",
        turn: Turn | None = None,
        fetch: Fetch = no_fetch,
        hooks: HookSource = NO_HOOKS,
    ) -> None:
        super().__init__(
            config=config,
            disk=disk,
            clock=clock,
            rng=rng,
            journal=journal,
            bound_ports=bound_ports,
            network=network or NoNetwork(),
            host=host,
            fetch=fetch,
            hooks=hooks,
        )
        self.controller: ControllerRole | None = None
        remote = self._remote_controller()
        link: ControllerLink = remote
        if config.is_controller:
            self.controller = ControllerRole(self, remote)
            link = self.controller.link
        self._not_closed: list[DiskFailed] = []
        self.broker: BrokerRole | None = None
        if config.is_broker:
            self.broker = BrokerRole(self, link, turn or Turn())
        if self.controller is not None and self.broker is not None:
            self.controller.when_serving = self.broker.when_serving

    def _remote_controller(self) -> RemoteController:
        return RemoteController(
            self.quorum,
            self.controller_address,
            self.network,
            self.clock,
            self.rng,
            node_id=self.node_id,
            listener=self.config.listening.controller_names[0],
            settings=peer_settings(self.config, "broker-to-controller", self.logins),
            request_timeout_ms=self.config.request_timeout_ms,
        )

    @property
    def roles(self) -> tuple[StartsAndStops, ...]:
        """In the order in which they start."""
        return tuple(one for one in (self.controller, self.broker) if one is not None)

    def start(self, then: Callback) -> None:
        """`then` once every role does its work."""
        waiting = len(self.roles)

        def started() -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                then()

        for role in self.roles:
            role.start(started)
        self.quorum.start(self._loaded)
        self.quorum_watch.start()

    def _loaded(self) -> None:
        for then in self.on_loaded:
            then()

    def stop(self, then: Callback) -> None:
        """In the other order: a broker needs the controller until it has handed over."""
        self._stop(list(self.roles), then)

    def _stop(self, left: list[StartsAndStops], then: Callback) -> None:
        if left:
            left.pop().stop(partial(self._stop, left, then))
        else:
            self.quorum_watch.stop()
            self.quorum.close(partial(self._closed, then))

    def _closed(self, then: Callback, failed: DiskFailed | None) -> None:
        if failed is not None:
            self._not_closed.append(failed)
        then()

    @property
    def not_closed(self) -> list[DiskFailed]:
        """What `stop` could not leave in order."""
        logs = self.broker.logs.not_closed if self.broker is not None else ()
        return [*self._not_closed, *logs]

    def directory_failed(self, failed: DiskFailed) -> None:
        """What was appended could not be written."""
        if self.broker is None:
            self.end(failed)
        else:
            self.broker.directory_failed(failed)
