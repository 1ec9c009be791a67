"""A client on a machine of its own: real frames to any node of the world, by its address."""

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.broker.peers.connection import PeerConnection, PeerSettings
from kafkapy.broker.requests.apis import find_api
from kafkapy.core.addresses import Address
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.world import BROKER_PORT, ClusterWorld

TIMEOUT_MS = 30_000


class Client:
    def __init__(self, world: ClusterWorld, name: str) -> None:
        self._world = world
        self._name = name
        self._connections: dict[int, PeerConnection] = {}

    def send(
        self,
        node_id: int,
        api: ApiKey,
        body: Mapping[str, Any],
        then: Callable[[Any], None],
        *,
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        """`then` gets the response or CallFailed."""
        served = find_api(api, is_controller=False)
        assert served is not None, api
        self._connection(node_id).call(
            api,
            body,
            then,
            versions=(served.min_version, served.max_version),
            timeout_ms=timeout_ms,
        )

    def ask(self, node_id: int, api: ApiKey, body: Mapping[str, Any]) -> Any:
        """Send, and turn the world until it is answered."""
        answers: list[Any] = []
        self.send(node_id, api, body, answers.append)
        self._world.run_until(lambda: bool(answers))
        return answers[0]

    def _connection(self, node_id: int) -> PeerConnection:
        if node_id not in self._connections:
            world = self._world
            self._connections[node_id] = PeerConnection(
                world.network.host(self._name),
                world.clock,
                world.rng.fork(f"{self._name}/{node_id}"),
                Address(f"n{node_id}", BROKER_PORT),
                listener="PLAINTEXT",
                settings=PeerSettings(client_id=self._name),
            )
        return self._connections[node_id]
