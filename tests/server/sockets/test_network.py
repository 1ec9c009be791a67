import errno
import select
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from queue import SimpleQueue
from threading import Event

import pytest

from kafkapy.core.addresses import Address
from kafkapy.core.errors import DiskFailed
from kafkapy.core.network import Channel, ChannelOwner, Down
from kafkapy.core.seams import Callback
from kafkapy.core.turn import Turn
from kafkapy.server.sockets.buffers import Buffers
from kafkapy.server.sockets.listener import listen
from kafkapy.server.sockets.lookups import Lookups
from kafkapy.server.sockets.network import SocketChannel, SocketNetwork
from kafkapy.server.sockets.outgoing import Outgoing
from kafkapy.server.sockets.reactor import READ, WRITE, Ready
from tests.network_conformance import Bench, Echo, Heard, NetworkConformance, framed

NEVER_SECONDS = 10  # a failure instead of a hanging test; nothing waits for it


class PumpedReactor:
    """A reactor whose rounds the test asks for."""

    def __init__(self) -> None:
        self.turn = Turn()
        self.buffers = Buffers()
        self._selector = selectors.DefaultSelector()
        self._soon: deque[Callback] = deque()

    def register(self, fd: int, owner: Ready, interest: int) -> None:
        self._selector.register(fd, interest, owner)

    def modify(self, fd: int, interest: int) -> None:
        self._selector.modify(fd, interest, self._selector.get_key(fd).data)

    def unregister(self, fd: int) -> None:
        self._selector.unregister(fd)

    def run_soon(self, then: Callback) -> None:
        self._soon.append(then)

    async def run(self) -> None:
        raise AssertionError("the test asks for rounds")

    def round(self) -> None:
        while self._soon:
            self._soon.popleft()()
        self.turn.begin()
        for key, event in self._selector.select(0.05):
            if event & WRITE and key.fd in self._selector.get_map():
                key.data.on_writable()
            if event & READ and key.fd in self._selector.get_map():
                key.data.on_readable()
        self.turn.end()

    def close(self) -> None:
        self._selector.close()


class Accepting:
    """A listening socket; each connection is a channel of its own."""

    def __init__(
        self, reactor: PumpedReactor, accept: Callable[[Channel], ChannelOwner], sock: socket.socket
    ) -> None:
        self.channels: list[Accepted] = []
        self._accept = accept
        self._reactor = reactor
        self._socket = sock
        reactor.register(sock.fileno(), self, READ)

    def on_readable(self) -> None:
        sock, _ = self._socket.accept()
        channel = Accepted(sock, self._reactor)
        self.channels.append(channel)
        channel.owned_by(self._accept(channel))

    def on_writable(self) -> None:
        raise AssertionError


class Accepted(SocketChannel):
    """The same code from the other side."""

    __slots__ = ()

    def __init__(self, sock: socket.socket, reactor: PumpedReactor) -> None:
        super().__init__(Heard(), reactor, 1 << 20, lambda _: None)
        sock.setblocking(False)
        self._socket = sock
        self._out = Outgoing(sock, self._flush)
        self._is_connecting = False
        self._interest = READ

    @property
    def raw(self) -> socket.socket:
        assert self._socket is not None
        return self._socket

    def owned_by(self, owner: ChannelOwner) -> None:
        assert self._socket is not None
        self._owner = owner
        self._reactor.register(self._socket.fileno(), self, READ)


class SocketBench(Bench):
    def __init__(self) -> None:
        self.reactor = PumpedReactor()
        self.network = self.sockets = SocketNetwork(
            self.reactor, self._run_at_once, max_frame_bytes=1 << 20
        )
        self._listening: list[socket.socket] = []
        self.accepting: list[Accepting] = []

    def _run_at_once(self, work: Callback, then: Callback) -> None:
        work()
        self.reactor.run_soon(then)

    def listen(self, accept: Callable[[Channel], ChannelOwner]) -> Address:
        sock = listen("127.0.0.1", 0, 16)
        self._listening.append(sock)
        self.accepting.append(Accepting(self.reactor, accept, sock))
        return Address(*sock.getsockname()[:2])

    def address_where_nobody_listens(self) -> Address:
        sock = listen("127.0.0.1", 0, 16)
        port = sock.getsockname()[1]
        sock.close()
        return Address("127.0.0.1", port)

    def run_until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + NEVER_SECONDS
        while not condition():
            assert time.monotonic() < end, "it never happens"
            self.reactor.round()

    def close(self) -> None:
        self.sockets.close()
        for accepting in self.accepting:
            for channel in accepting.channels:
                channel.close()
        for sock in self._listening:
            sock.close()
        self.reactor.close()


@pytest.fixture
def bench() -> Iterator[SocketBench]:
    bench = SocketBench()
    yield bench
    bench.close()


class TestConformance(NetworkConformance):
    pass


def test_names_are_looked_up(bench: SocketBench) -> None:
    client = Heard()
    _, port = bench.listen(Echo())
    bench.connect(Address("localhost", port), client)
    bench.run_until(lambda: client.events == ["up"])


def test_a_name_nobody_knows_is_unreachable(bench: SocketBench) -> None:
    client = Heard()
    bench.connect(Address("no-such-host.invalid", 1), client)
    bench.run_until(lambda: client.down is Down.UNREACHABLE)


@pytest.mark.parametrize("host", ["x" * 64 + ".invalid", "two..dots.invalid"])
def test_so_is_what_cannot_be_a_name(bench: SocketBench, host: str) -> None:
    client = Heard()
    bench.connect(Address(host, 1), client)
    bench.run_until(lambda: client.down is Down.UNREACHABLE)


def test_a_lookup_that_hangs_keeps_no_other_waiting() -> None:
    """Nor a flush: those have other threads."""
    answers: SimpleQueue[int] = SimpleQueue()
    lookups = Lookups(lambda then: then())
    gate = Event()

    def hang() -> None:
        gate.wait(NEVER_SECONDS)

    for number in range(20):
        lookups.run(hang, partial(answers.put, number))
    lookups.run(lambda: None, partial(answers.put, 20))
    assert answers.get(timeout=NEVER_SECONDS) == 20
    gate.set()
    assert {answers.get(timeout=NEVER_SECONDS) for _ in range(20)} == set(range(20))


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
def test_without_descriptors_nobody_is_reached_and_nobody_is_taken_for_dead(
    bench: SocketBench, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Whoever connects asks a moment later again; the node lives on."""

    def no_socket(*_: object) -> socket.socket:
        raise OSError(code, "none left")

    client, address = Heard(), bench.listen(Echo())
    monkeypatch.setattr(socket, "socket", no_socket)
    bench.connect(address, client)
    bench.run_until(lambda: client.down is not None)
    assert client.down is Down.UNREACHABLE


def test_who_has_no_port_to_come_from_does_not_take_the_other_for_dead(
    bench: SocketBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, address = Heard(), bench.listen(Echo())
    monkeypatch.setattr(socket.socket, "connect_ex", lambda *_: errno.EADDRNOTAVAIL, raising=False)
    bench.connect(address, client)
    bench.run_until(lambda: client.down is not None)
    assert client.down is Down.UNREACHABLE


def test_a_frame_larger_than_allowed_breaks_the_channel(bench: SocketBench) -> None:
    echo, client = Echo(), Heard()
    bench.connect(bench.listen(echo), client)
    bench.run_until(lambda: bool(echo.channels))
    echo.channels[0].send(((1 << 30).to_bytes(4, "big") + b"x",))
    bench.run_until(lambda: client.down is Down.BROKEN)


def test_what_fails_while_a_frame_is_heard_is_no_fault_of_the_connection(
    bench: SocketBench,
) -> None:
    """Taken for one it would be forgotten, and what it kept from being done with it."""
    echo, heard = Echo(), Heard()

    def cannot(_: bytes) -> None:
        raise OSError(errno.EFBIG, "File too large")

    bench.connect(bench.listen(echo), heard)
    bench.run_until(lambda: bool(echo.channels))
    heard.on_each = cannot
    echo.channels[0].send((framed(b"hello"),))
    with pytest.raises(OSError, match="File too large"):
        bench.run_until(lambda: heard.down is not None)
    assert heard.down is None


def test_what_is_sent_in_a_turn_leaves_at_its_end(bench: SocketBench) -> None:
    """Until then what the frame speaks of may not be written."""
    echo, client = Echo(), Heard()
    channel = bench.connect(bench.listen(echo), client)
    bench.run_until(lambda: client.events == ["up"])
    bench.reactor.turn.begin()
    channel.send((framed(b"x"),))
    assert not select.select([bench.accepting[-1].channels[-1].raw], [], [], 0)[0]
    bench.reactor.turn.end()
    bench.run_until(lambda: client.frames == [b"x"])


def test_what_speaks_of_what_could_not_be_written_never_leaves(bench: SocketBench) -> None:
    echo, client = Echo(), Heard()
    channel = bench.connect(bench.listen(echo), client)
    bench.run_until(lambda: client.events == ["up"])
    turn = bench.reactor.turn
    turn.failed = lambda _: None
    turn.begin()
    channel.send((framed(b"lost"),))
    turn.lost(DiskFailed("log", "No space left on device"))
    turn.end()
    channel.send((framed(b"next"),))
    bench.run_until(lambda: client.frames == [b"next"])


def test_what_is_broken_off_sends_nothing_more_and_says_so_soon(bench: SocketBench) -> None:
    """A turn whose write failed: its frames are gone, and what came behind them would lie."""
    echo, client = Echo(), Heard()
    channel = bench.connect(bench.listen(echo), client)
    bench.run_until(lambda: client.events == ["up"])
    bench.sockets.break_all("the write failed")
    channel.send((framed(b"too late"),))
    assert client.events == ["up"]
    bench.run_until(lambda: client.events == ["up", "down"])
    assert client.down is Down.BROKEN
    bench.run_until(lambda: "down" in echo.heard[0].events)
    assert echo.heard[0].frames == []


def test_who_closes_what_was_broken_off_hears_nothing(bench: SocketBench) -> None:
    client = Heard()
    channel = bench.connect(bench.listen(Echo()), client)
    bench.run_until(lambda: client.events == ["up"])
    bench.sockets.break_all("the write failed")
    channel.close()
    bench.reactor.round()
    assert client.events == ["up"]
