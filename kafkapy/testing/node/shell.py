"""The server's shell with three differences: requests pass by the test, the clock can be put
forward, and the disk may be memory.

    listener -> gate(shell, request, peer, next) -> dispatch -> node
"""

import socket
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint
from kafkapy.broker.requests.request import Answer, Call, Peer
from kafkapy.core.errors import DiskFailed
from kafkapy.core.network import Network
from kafkapy.core.seams import Journal
from kafkapy.hooks.source import HookSource
from kafkapy.server.disk.real_disk import OwnedDisk
from kafkapy.server.hooks import InstalledHooks
from kafkapy.server.run import Shell
from kafkapy.server.sockets.listener import listen
from kafkapy.testing.node.clock import AdvancingClock
from kafkapy.testing.node.memory_disk import MemoryDisk

Next = Callable[[memoryview, Peer], tuple[Call[Any], Answer]]
Gate = Callable[["TestShell", memoryview, Peer, Next], tuple[Call[Any], Answer]]

Around = Callable[[Network], Network]


class TestShell(Shell):
    """Made inside the Trio loop, like any Shell. Without `memory` the disk is the real one."""

    __test__ = False  # the name is not pytest's

    def __init__(
        self,
        config: BrokerConfig,
        journal: Journal,
        sockets: list[tuple[Endpoint, socket.socket]],
        gate: Gate,
        clock: AdvancingClock,
        memory: MemoryDisk | None,
        around: Around | None = None,
        hooks: Mapping[str, object] | None = None,
    ) -> None:
        """`around` stands between the node and its network. `hooks` by name, beside those that
        the settings name."""
        self._given_hooks = hooks
        self._memory = memory
        self._around = around
        self._gate = gate
        super().__init__(config, journal, sockets, clock)
        self.node.on_fatal = lambda _: _halt()
        self.advance = clock.advance

    def _network_of_node(self) -> Network:
        network = super()._network_of_node()
        return network if self._around is None else self._around(network)

    def _hooks(self) -> HookSource:
        return InstalledHooks(self._config.kafkapy_hooks, self._journal, self._given_hooks)

    def _make_disk(self) -> OwnedDisk:
        if self._memory is None:
            return super()._make_disk()
        self._memory.run_later = self.clock.call_soon
        # Kafka halts when its only log directory fails. What refused to write has an answer
        # to send first.
        self._memory.on_full = partial(self.clock.call_soon, _halt)
        return self._memory

    def _gate_of(self, listener: str) -> Callable[[Peer], Next]:
        serve_for = super()._gate_of(listener)
        return lambda peer: partial(self._pass_by, serve_for(peer))

    def _pass_by(self, serve: Next, request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
        return self._gate(self, request, peer, serve)

    def hang_up(self, peer: Peer, reason: str) -> None:
        """Close the connection of `peer`, once what was just answered is on its way."""
        for connection in (one for listener in self.listeners for one in listener.connections):
            if connection.peer is peer:
                self.clock.call_soon(partial(connection.close, reason))

    def kill(self) -> None:
        """As a power cut would, except that this process must not lose descriptors: nothing
        is handed over, flushed or marked clean, so the next start has to recover."""
        self.release()


def _halt() -> None:
    raise DiskFailed("the disk", "it failed, so the broker has halted; free it, start() again")


def bind(config: BrokerConfig) -> list[tuple[Endpoint, socket.socket]]:
    sockets: list[tuple[Endpoint, socket.socket]] = []
    try:
        for endpoint in config.listening.all:
            backlog = config.socket_listen_backlog_size
            sockets.append((endpoint, listen(endpoint.host, endpoint.port, backlog)))
    except OSError:
        for _, sock in sockets:
            sock.close()
        raise
    return sockets


class Heard:
    """The Journal of a test's broker: kept, not printed. The last thousand events."""

    def __init__(self) -> None:
        self.events: deque[tuple[str, str, dict[str, Any]]] = deque(maxlen=1000)

    def info(self, event: str, **facts: object) -> None:
        self.events.append(("info", event, facts))

    def warning(self, event: str, **facts: object) -> None:
        self.events.append(("warning", event, facts))

    def error(self, event: str, **facts: object) -> None:
        self.events.append(("error", event, facts))
