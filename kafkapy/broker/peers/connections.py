"""Several connections to other nodes, each under a key: a node, or what is asked there.

key --address--> connection        the address is another one now: the old connection is let go
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from kafkapy.broker.peers.connection import PeerConnection, PeerSettings
from kafkapy.core.addresses import Address
from kafkapy.core.network import Network
from kafkapy.core.seams import Clock, Rng

Key = TypeVar("Key", bound=Hashable)


class Connections(Generic[Key]):
    """`listener` is the one that those at the addresses are asked on."""

    def __init__(
        self, network: Network, clock: Clock, rng: Rng, *, listener: str, settings: PeerSettings
    ) -> None:
        self.listener = listener
        self._network = network
        self._clock = clock
        self._rng = rng
        self._settings = settings
        self._open: dict[Key, PeerConnection] = {}
        self._is_closed = False

    def to(self, key: Key, address: Address | None) -> PeerConnection | None:
        """None if nobody knows the address."""
        connection = self._open.get(key)
        if connection is not None and connection.address == address:
            return connection
        self.drop(key)
        if address is None:
            return None
        connection = self._open[key] = self.another(address)
        return connection

    def another(self, address: Address) -> PeerConnection:
        """One that is kept by nobody here."""
        connection = PeerConnection(
            self._network,
            self._clock,
            self._rng,
            address,
            listener=self.listener,
            settings=self._settings,
        )
        if self._is_closed:
            connection.close()
        return connection

    def drop(self, key: Key) -> None:
        """Nothing more is to be said there."""
        connection = self._open.pop(key, None)
        if connection is not None:
            connection.close()

    def drop_unless_at(self, address: Address | None) -> None:
        """All that are to somewhere else."""
        for key in tuple(self._open):
            if self._open[key].address != address:
                self.drop(key)

    def close(self) -> None:
        """For ever: whoever calls from now on is told that it is closed."""
        self._is_closed = True
        for connection in self._open.values():
            connection.close()
