"""One node of a test's `Cluster`: a `Broker` that has others, can be paused and cut off."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.request import Answer, Call, Peer
from kafkapy.core.network import Network
from kafkapy.core.time import Instant
from kafkapy.kraft.storage.adoption import make_directory
from kafkapy.kraft.storage.format import format_directories
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.server.disk.real_disk import RealDisk
from kafkapy.server.rng import SystemRng
from kafkapy.testing.broker import Broker
from kafkapy.testing.cluster.links import CutNetwork, Links
from kafkapy.testing.gate.faults import Faults
from kafkapy.testing.gate.gatekeeper import Gatekeeper
from kafkapy.testing.node.shell import Gate, Next, TestShell

T = TypeVar("T")

_NODES: Final = "kafkapy"  # what they call their software in ApiVersions


class ClusterNode(Broker):
    """One of them; made by its `Cluster`."""

    def __init__(
        self,
        node_id: int,
        links: Links,
        settings: Mapping[str, str],
        directory: Path | None,
        port: int,
        faults: Faults,
    ) -> None:
        """`faults`: those of the whole cluster."""
        super().__init__(settings, directory=directory, port=port)
        self.node_id = node_id
        self.is_paused = False
        self._cable = _Cable(links, node_id)
        self._gate = _of_clients(Gatekeeper((self.faults, faults), self._requests, None))
        self._around = self._cable.around

    def format(self, cluster_id: str) -> None:
        disk = self._memory if self._memory is not None else RealDisk()
        make_directory(disk, self._directory)
        format_directories(
            disk,
            SystemRng(),
            Instant(time.time_ns() // 1_000_000),
            [self._directory],
            cluster_id=cluster_id,
            node_id=self.node_id,
            ignore_formatted=True,
        )

    def pause(self) -> None:
        """As SIGSTOP: its connections stay, nothing is answered, until `resume`."""
        self._running().pause()
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        self._running().resume()

    def look(self) -> None:
        """The links have changed."""
        if self.is_running:
            self._running().run_soon(self._cable.look)

    def on_node(self, read: Callable[[Node], T]) -> T:
        def answer(node: Node, done: Callable[[T], None]) -> None:
            done(read(node))

        return self._running().ask(answer)

    def _end(self, *, kill: bool) -> None:
        if self.is_paused:
            self.resume()
        super()._end(kill=kill)


class _Cable:
    """Between a node and the others. Its thread has this and not the node: a node that nobody
    holds any more must be told to end."""

    def __init__(self, links: Links, node_id: int) -> None:
        self._links = links
        self._node_id = node_id
        self._network: CutNetwork | None = None

    def around(self, network: Network) -> Network:
        self._network = CutNetwork(self._links, self._node_id, network)
        return self._network

    def look(self) -> None:
        if self._network is not None:
            self._network.look()


def _of_clients(gate: Gate) -> Gate:
    """What nodes ask one another is neither written down nor hit by faults."""

    def passed(
        shell: TestShell, request: memoryview, peer: Peer, serve: Next
    ) -> tuple[Call[Any], Answer]:
        is_node = peer.is_controller_listener or peer.software_name == _NODES
        if is_node or (request[1] == ApiKey.API_VERSIONS and _NODES.encode() in bytes(request)):
            return serve(request, peer)
        return gate(shell, request, peer, serve)

    return passed
