"""What goes from a client's machine over the simulated network: a connection to each broker."""

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.broker.peers.connection import PeerSettings
from kafkapy.broker.peers.connections import Connections
from kafkapy.core.addresses import Address
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.world import BROKER_PORT, ClusterWorld


class Wire:
    """`name` is the machine's. `addresses` are those that are known, by the brokers' ids."""

    def __init__(self, world: ClusterWorld, name: str) -> None:
        self.addresses = {host.node_id: Address(host.name, BROKER_PORT) for host in world.brokers}
        self.rng = world.rng.fork(name)
        self._connections: Connections[int] = Connections(
            world.network.host(name),
            world.clock,
            self.rng,
            listener="PLAINTEXT",
            settings=PeerSettings(client_id=name),
        )

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
        connection = self._connections.to(node_id, self.addresses[node_id])
        assert connection is not None, node_id
        connection.call(api, body, then, versions=versions, timeout_ms=timeout_ms)
