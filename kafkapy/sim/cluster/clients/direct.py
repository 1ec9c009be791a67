"""A client that says itself whom it asks what: real frames to any node of the world."""

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.broker.requests.apis import find_api
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.clients.wire import Wire
from kafkapy.sim.cluster.world import ClusterWorld

TIMEOUT_MS = 30_000


class Client:
    def __init__(self, world: ClusterWorld, name: str) -> None:
        self._world = world
        self._wire = Wire(world, name)

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
        versions = served.min_version, served.max_version
        self._wire.call(node_id, api, body, then, versions=versions, timeout_ms=timeout_ms)

    def ask(self, node_id: int, api: ApiKey, body: Mapping[str, Any]) -> Any:
        """Send, and turn the world until it is answered."""
        answers: list[Any] = []
        self.send(node_id, api, body, answers.append)
        self._world.run_until(lambda: bool(answers))
        return answers[0]
