"""Channels under TLS keep every promise that plain ones keep, and check whom they reach."""

import socket
import ssl
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from kafkapy.core.addresses import Address
from kafkapy.core.network import Channel, ChannelOwner, Down
from kafkapy.server.sockets.listener import listen
from kafkapy.server.sockets.network import SocketNetwork
from kafkapy.server.sockets.reactor import READ
from kafkapy.server.tls.channel import TlsChannel
from kafkapy.server.tls.outgoing import TlsOutgoing
from kafkapy.server.tls.session import TlsSession
from kafkapy.testing.security.certificates import Certificate
from tests.network_conformance import Echo, Heard, NetworkConformance
from tests.server.sockets import test_network
from tests.server.sockets.test_network import Accepting, PumpedReactor, SocketBench
from tests.server.tls.chains import AUTHORITY, WRONG_OF_SERVERS, issued, root
from tests.server.tls.contexts import client_context, server_context

SERVER = AUTHORITY.issue("server", hosts=("localhost", "127.0.0.1"))


class TlsAccepted(TlsChannel):
    """The same code from the other side."""

    __slots__ = ()

    def __init__(
        self, sock: socket.socket, reactor: PumpedReactor, context: ssl.SSLContext
    ) -> None:
        super().__init__(Heard(), reactor, 1 << 20, lambda _: None, context, "")
        sock.setblocking(False)
        session = self._session = TlsSession(sock, context)
        self._socket = cast(socket.socket, session)
        self._out = TlsOutgoing(self._socket, session, self._flush)
        self._is_connecting = False
        self._interest = READ

    @property
    def raw(self) -> socket.socket:
        assert self._session is not None
        return self._session._socket

    def owned_by(self, owner: ChannelOwner) -> None:
        assert self._session is not None
        self._owner = owner
        self._reactor.register(self._session.fileno(), self, READ)


class TlsBench(SocketBench):
    def __init__(self) -> None:
        super().__init__()
        self.server: Certificate = SERVER
        self.client_context = client_context(AUTHORITY)
        self.network = self.sockets = SocketNetwork(
            self.reactor,
            self._run_at_once,
            max_frame_bytes=1 << 20,
            client_tls=lambda listener: self.client_context,
        )

    def accepts(self, sock: socket.socket) -> TlsAccepted:
        return TlsAccepted(sock, self.reactor, server_context(self.server, AUTHORITY))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[TlsBench]:
    bench = TlsBench()
    monkeypatch.setattr(test_network, "Accepted", lambda sock, _: bench.accepts(sock))
    yield bench
    bench.close()


class TestConformance(NetworkConformance):
    pass


def refused(bench: TlsBench) -> Heard:
    client = Heard()
    bench.connect(bench.listen(Echo()), client)
    bench.run_until(lambda: client.down is not None)
    assert client.events == ["down"]
    assert client.down is Down.BROKEN
    return client


@pytest.mark.parametrize(
    "server",
    [
        pytest.param(AUTHORITY.issue("server", hosts=("elsewhere.example",)), id="another name"),
        pytest.param(AUTHORITY.issue("127.0.0.1"), id="no name"),
    ],
)
def test_a_server_that_is_not_who_it_should_be_is_not_spoken_to(
    bench: TlsBench, server: Certificate
) -> None:
    bench.server = server
    refused(bench)


@pytest.mark.parametrize("make", WRONG_OF_SERVERS, ids=lambda one: one.__name__)
def test_nor_one_that_shows_a_chain_that_is_wrong(
    bench: TlsBench, make: Callable[[], Certificate]
) -> None:
    bench.server = make()
    refused(bench)


def test_the_same_made_right_is_spoken_to(bench: TlsBench) -> None:
    bench.server = issued(root())
    client = Heard()
    bench.connect(bench.listen(Echo()), client)
    bench.run_until(lambda: client.events == ["up"])


def test_names_are_not_checked_where_that_is_switched_off(bench: TlsBench) -> None:
    bench.server = AUTHORITY.issue("server", hosts=("elsewhere.example",))
    bench.client_context.check_hostname = False
    client = Heard()
    bench.connect(bench.listen(Echo()), client)
    bench.run_until(lambda: client.events == ["up"])


def test_a_server_that_speaks_no_tls_is_not_spoken_to(bench: TlsBench) -> None:
    client = Heard()
    accepted: list[socket.socket] = []

    class Plain(Accepting):
        def on_readable(self) -> None:
            sock, _ = self._socket.accept()
            sock.sendall(b"\0\0\0\4abcd")
            accepted.append(sock)

    def never(channel: Channel) -> ChannelOwner:
        raise AssertionError

    sock = listen("127.0.0.1", 0, 1)
    bench.accepting.append(Plain(bench.reactor, never, sock))
    bench.connect(Address(*sock.getsockname()[:2]), client)
    bench.run_until(lambda: client.down is Down.BROKEN)
    for one in (*accepted, sock):
        one.close()
