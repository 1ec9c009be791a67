"""What goes from a client's machine over the simulated network: a connection to each broker."""

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.broker.peers.connection import PeerConnection, PeerSettings
from kafkapy.core.addresses import Address
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.world import BROKER_PORT, ClusterWorld


class Wire:
    """`name` is the machine's. `addresses` are those that are known, by the brokers' ids."""

    def __init__(self, world: ClusterWorld, name: str) -> None:
        self.addresses = {host.node_id: Address(host.name, BROKER_PORT) for host in world.brokers}
        self.rng = world.rng.fork(name)
        self._name = name
        self._clock = world.clock
        self._network = world.network.host(name)
        self._connections: dict[int, PeerConnection] = {}

    def call(
        self,
        node_id: int,
        api: ApiKey,
        body: Mapping[str, Any],
        then: Callable[[Any], None],
        *,
        versions: tuple[int, int],
        timeout_ms: int,
    ) -> None:
        """`then` gets the response or CallFailed."""
        self._connection(node_id).call(api, body, then, versions=versions, timeout_ms=timeout_ms)

    def _connection(self, node_id: int) -> PeerConnection:
        connection = self._connections.get(node_id)
        if connection is None:
            connection = self._connections[node_id] = PeerConnection(
                self._network,
                self._clock,
                self.rng,
                self.addresses[node_id],
                listener="PLAINTEXT",
                settings=PeerSettings(client_id=self._name),
            )
        return connection
