"""Connections to other brokers, by their ids, for one purpose.

Where a broker is, its registration says: its endpoint on the listener between brokers. A broker
that comes back elsewhere gets another connection.
"""

from collections.abc import Callable
from typing import Any, Final

from kafkapy.broker.peers.connection import Body, PeerConnection, PeerSettings
from kafkapy.broker.peers.connections import Connections
from kafkapy.broker.peers.failures import CallFailed
from kafkapy.core.addresses import Address
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.network import Network
from kafkapy.core.seams import Answered as NodeAnswered
from kafkapy.core.seams import Clock, Rng
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.api_keys import ApiKey

_APIS: Final = {int(one): one for one in ApiKey}


class BrokerConnections:
    """`listener` is inter.broker.listener.name."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        rng: Rng,
        image: Callable[[], MetadataImage],
        *,
        listener: str,
        settings: PeerSettings,
    ) -> None:
        self._image = image
        self._connections: Connections[int] = Connections(
            network, clock, rng, listener=listener, settings=settings
        )

    def to(self, broker_id: int) -> PeerConnection | None:
        """None if the metadata does not say where it is."""
        return self._connections.to(broker_id, self._address(broker_id))

    def drop(self, broker_id: int) -> None:
        """Nothing more is to be said to it."""
        self._connections.drop(broker_id)

    def close(self) -> None:
        self._connections.close()

    def _address(self, broker_id: int) -> Address | None:
        broker = self._image().brokers.get(broker_id)
        for endpoint in () if broker is None else broker.endpoints:
            if endpoint.name == self._connections.listener:
                return Address(endpoint.host, endpoint.port)
        return None


class OtherBrokers:
    """Implements `OtherNodes` (core/seams.py): single calls, answered or NETWORK_EXCEPTION."""

    def __init__(self, connections: BrokerConnections, clock: Clock) -> None:
        self._connections = connections
        self._clock = clock

    def call(
        self,
        node: int,
        api_key: int,
        version: int,
        body: Body,
        timeout_ms: int,
        then: NodeAnswered,
    ) -> None:
        connection = self._connections.to(node)
        if connection is None:
            refused = Refused(ErrorCode.NETWORK_EXCEPTION, f"nobody knows where node {node} is")
            self._clock.call_soon(lambda: then(refused))
            return
        connection.call(
            _APIS[api_key],
            body,
            lambda answer: then(_as_refused(answer)),
            versions=(version, version),
            timeout_ms=timeout_ms,
        )

    def close(self) -> None:
        self._connections.close()


def _as_refused(answer: Any) -> Any:
    if isinstance(answer, CallFailed):
        return Refused(ErrorCode.NETWORK_EXCEPTION, str(answer))
    return answer
