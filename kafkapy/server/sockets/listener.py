"""One listening address: accepts connections and keeps them.

Under TLS a connection is a TlsConnection; plain ones know nothing of that. Where a peer comes from
is written in one way (broker/security/authorizer/hosts.py) from here on.

`connections.max.idle.ms` is held here; who may come in is asked of the room and of the door.
"""

import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kafkapy.broker.quotas.door import Door
from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.hosts import canonical_host
from kafkapy.core.seams import Journal
from kafkapy.server.sockets.connection import Connection, Dispatch, Encode
from kafkapy.server.sockets.reactor import READ, Reactor
from kafkapy.server.sockets.room import Room
from kafkapy.server.sockets.settling import Settling

if TYPE_CHECKING:
    from kafkapy.server.tls.contexts import ListenerTls
    from kafkapy.server.tls.session import TlsSession

# Accept this many at a time, then let the connections that are there have their turn.
_ACCEPT_AT_ONCE: Final = 64
# What cannot be accepted stays in the backlog, and is ready at once again: without descriptors it
# is looked at again after this long, and told this often.
_EXHAUSTED_MS: Final = 100
_TOLD_EVERY_SECONDS: Final = 60.0


class Listener:
    """Named as in `listeners` (PLAINTEXT, CONTROLLER ...), bound by `listen`."""

    def __init__(
        self,
        name: str,
        sock: socket.socket,
        reactor: Reactor,
        dispatch_for: Callable[[Peer], Dispatch],
        encode: Encode,
        journal: Journal,
        *,
        is_controller: bool,
        max_frame_bytes: int,
        room: Room,
        door: Door,
        buffer_bytes: tuple[int | None, int | None] = (None, None),
        asks_who: bool = False,
        tls: "ListenerTls | None" = None,
    ) -> None:
        """`asks_who`: by SASL, behind TLS or not."""
        self.name = name
        self.connections: set[Connection] = set()
        self.accepted = 0  # since the start
        self._socket = sock
        self._reactor = reactor
        self._dispatch_for = dispatch_for
        self._encode = encode
        self._journal = journal
        self.is_controller = is_controller
        self._max_frame_bytes = max_frame_bytes
        self._room = room
        self._buffer_bytes = buffer_bytes
        self._asks_who = asks_who
        self._tls = tls
        self._door = door
        self._settling = Settling() if asks_who or tls is not None else None
        self._is_accepting = True
        self._told_at = -_TOLD_EVERY_SECONDS
        room.listeners.append(self)
        reactor.register(sock.fileno(), self, READ)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()[:2]
        return host, port

    def on_readable(self) -> None:
        for _ in range(_ACCEPT_AT_ONCE):
            if self._has_to_wait():
                return
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failed:
                # Out of descriptors: the ones we have go on, new ones must wait.
                self._wait(_EXHAUSTED_MS)
                self._tell_now_and_then(failed)
                return
            if self._room.is_out_of_descriptors(self, sock.fileno()):
                sock.close()
                self._wait(_EXHAUSTED_MS)
                self._tell_now_and_then("the descriptors that are left are for files")
                return
            self._accept(sock, canonical_host(address[0]))

    def _has_to_wait(self) -> bool:
        """Whoever knocks stays in the backlog until the rate of new connections allows it."""
        wait_ms = self._door.wait_ms(self.name)
        if wait_ms:
            self._wait(wait_ms)
        return bool(wait_ms)

    def _wait(self, wait_ms: int) -> None:
        self._reactor.modify(self._socket.fileno(), 0)
        self._door.call_in(wait_ms, self._go_on)

    def _tell_now_and_then(self, failed: OSError | str) -> None:
        now = time.monotonic()
        if now - self._told_at >= _TOLD_EVERY_SECONDS:
            self._told_at = now
            self._journal.error("accept failed", listener=self.name, reason=failed)

    def _go_on(self) -> None:
        if self._is_accepting:
            self._reactor.modify(self._socket.fileno(), READ)

    def on_writable(self) -> None:
        raise AssertionError("a listening socket is never written to")

    def _accept(self, sock: socket.socket, host: str) -> None:
        full = self._room.refusal(self)
        if full is not None:
            self._journal.warning("connection refused", listener=self.name, peer=host, reason=full)
            sock.close()
            return
        if self._is_turned_away(sock, host):
            return
        self._room.make(self)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        receive, send = self._buffer_bytes
        if receive is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        if send is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send)
        peer = Peer(self.name, host, is_controller_listener=self.is_controller)
        connection = self._connection(sock, peer)
        peer.line = connection
        connection.last_used = time.monotonic()
        self.connections.add(connection)
        self.accepted += 1
        if self._settling is not None:
            peer.is_settled = False
            self._settling.add(connection)

    def _is_turned_away(self, sock: socket.socket, host: str) -> bool:
        away = self._door.came(self.name, host)
        if away is None:
            return False
        self._journal.warning(
            "connection refused", listener=self.name, peer=host, reason=away.reason
        )
        if away.wait_ms:
            self._door.call_in(away.wait_ms, sock.close)
        else:
            sock.close()
        return True

    def _connection(self, sock: socket.socket, peer: Peer) -> Connection:
        reactor, dispatch, most = self._reactor, self._dispatch_for(peer), self._max_frame_bytes
        if self._tls is None:
            return Connection(sock, peer, reactor, dispatch, self._encode, self._closed, most)
        from kafkapy.server.tls.connection import TlsConnection
        from kafkapy.server.tls.session import TlsSession

        session = TlsSession(sock, self._tls.server)
        return TlsConnection(
            session, peer, reactor, dispatch, self._encode, self._closed, most, self._established
        )

    def _established(self, peer: Peer, session: "TlsSession") -> None:
        assert self._tls is not None, "or who says so?"
        if not self._asks_who:
            certificate = session.peer_certificate()
            peer.principal = self._tls.principal(certificate)
            peer.is_settled = True
            if certificate is not None:
                self._journal.info(
                    "let in", listener=self.name, peer=peer.host, principal=peer.principal,
                    by="its certificate",
                )  # fmt: skip

    def _closed(self, connection: Connection, reason: str | None) -> None:
        self.connections.discard(connection)
        self._door.left(connection.peer.host)
        if reason is not None:
            self._journal.warning(
                "connection closed",
                listener=self.name,
                peer=connection.peer.host,
                client=connection.peer.software_name,
                reason=reason,
            )

    def close_idle(self, idle_seconds: float) -> None:
        """connections.max.idle.ms, looked at now and then."""
        limit = time.monotonic() - idle_seconds
        for connection in [one for one in self.connections if one.last_used < limit]:
            connection.close(None)

    def close_unsettled(self) -> None:
        """Who has not shown who it is in time, looked at now and then."""
        if self._settling is not None:
            self._settling.close_overdue()

    def stop_accepting(self) -> None:
        self._is_accepting = False
        self._reactor.unregister(self._socket.fileno())
        self._socket.close()

    def close_connections(self) -> None:
        for connection in list(self.connections):
            connection.close(None)

    def close(self) -> None:
        self.stop_accepting()
        self.close_connections()


def listen(host: str, port: int, backlog: int) -> socket.socket:
    """A bound, listening, non-blocking socket; port 0 picks a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(backlog)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
