"""The server's shell with three differences: requests pass by the test, the clock can be put
forward, and the garbage collector is left alone (freezing it suits a process that is a broker,
not one that also is somebody's test run).

    listener -> gate(request, peer, next) -> dispatch -> node
"""

import socket
from collections import deque
from collections.abc import Callable
from typing import Any

import trio

from kafkapy.broker.call import Answer, Call, Peer
from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint
from kafkapy.broker.node import Node
from kafkapy.core.seams import Journal
from kafkapy.server.listener import listen
from kafkapy.server.run import Shell
from kafkapy.testing.clock import AdvancingClock

Next = Callable[[memoryview, Peer], tuple[Call, Answer]]
Gate = Callable[[Node, memoryview, Peer, Next], tuple[Call, Answer]]


class TestShell(Shell):
    """Made inside the Trio loop, like any Shell."""

    __test__ = False  # the name is not pytest's

    def __init__(
        self,
        config: BrokerConfig,
        journal: Journal,
        sockets: list[tuple[Endpoint, socket.socket]],
        gate: Gate,
        clock: AdvancingClock,
    ) -> None:
        super().__init__(config, journal, sockets, clock)
        self.advance = clock.advance
        self._gate = gate

    async def start(self) -> None:
        started = trio.Event()
        self.node.start(started.set)
        await started.wait()
        for endpoint, sock in self._sockets:
            self.listeners.append(self._listener(endpoint, sock))

    def _dispatch(self, request: memoryview, peer: Peer) -> tuple[Call, Answer]:
        return self._gate(self.node, request, peer, super()._dispatch)

    def kill(self) -> None:
        """As a power cut would, except that this process must not lose descriptors: nothing
        is handed over, flushed or marked clean, so the next start has to recover."""
        for listener in self.listeners:
            listener.close()
        self.release()

    def release(self) -> None:
        """Whatever the operating system still holds for this shell; may be called twice."""
        # Still open only if the loop died, and the reactor they are registered in with it.
        for connection in (one for listener in self.listeners for one in listener.connections):
            connection._socket.close()
        self._threads.close()
        for file in list(self._disk._open):
            file.drop_handle()
        self._disk._open.clear()
        self._unlock()


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
