"""A client's connection under TLS: a Connection whose socket is a session.

    readable -> handshake ... -> both know each other -> as any connection, on plaintext

A handshake that fails is answered with its alert and closed; how long one may take, and how many
may be on their way, the listener sees to (settling.py).
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from kafkapy.broker.requests.request import Peer
from kafkapy.server.sockets.connection import Connection, Dispatch, Encode
from kafkapy.server.sockets.reactor import READ, Reactor
from kafkapy.server.tls.outgoing import TlsOutgoing
from kafkapy.server.tls.session import TlsSession


class TlsConnection(Connection):
    """`established` is told once the handshake is done; OSError from it ends the connection."""

    __slots__ = ("_established", "_session")

    def __init__(
        self,
        session: TlsSession,
        peer: Peer,
        reactor: Reactor,
        dispatch: Dispatch,
        encode: Encode,
        closed: Callable[[Connection, str | None], None],
        max_frame_bytes: int,
        established: Callable[[Peer, TlsSession], None],
    ) -> None:
        sock = cast(socket.socket, session)
        super().__init__(sock, peer, reactor, dispatch, encode, closed, max_frame_bytes)
        self._session = session
        self._established = established
        self._out = TlsOutgoing(sock, session, self._flush_in_time)

    def on_readable(self) -> None:
        session = self._session
        if not session.is_established and not self._shake_hands():
            return
        session.may_receive = True
        super().on_readable()
        while session.has_more and self.is_open and self._interest & READ:
            super().on_readable()

    def _shake_hands(self) -> bool:
        session = self._session
        try:
            is_done = session.shake_hands()
            if is_done:
                self._established(self.peer, session)
        except BlockingIOError:
            return False
        except OSError as failed:
            with suppress(OSError):
                self._out.send()  # the alert says why
            self.close(f"TLS handshake failed: {getattr(failed, 'reason', None) or failed}")
            return False
        self._flush_in_time()
        return is_done

    def _update_interest(self) -> None:
        before = self._interest
        super()._update_interest()
        if self._interest & READ and not before & READ and self._session.has_more:
            # Nothing more may come: the socket will not say that something is here.
            self._reactor.run_soon(self._read_on)

    def _read_on(self) -> None:
        if self.is_open and self._interest & READ:
            self.on_readable()

    def close(self, reason: str | None) -> None:
        if self.is_open and self._session.is_established and not self._out.unsent_bytes:
            self._session.say_goodbye()
        super().close(reason)
