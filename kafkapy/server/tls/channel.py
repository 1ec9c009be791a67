"""An outbound connection under TLS: a channel that is up once both know each other."""

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from kafkapy.core.network import ChannelOwner, Down
from kafkapy.server.sockets.network import SocketChannel
from kafkapy.server.sockets.reactor import Reactor
from kafkapy.server.tls.outgoing import TlsOutgoing
from kafkapy.server.tls.session import TlsSession


class TlsChannel(SocketChannel):
    """`host` is whose name the certificate must have, if names are checked."""

    __slots__ = ("_context", "_host", "_session")

    def __init__(
        self,
        owner: ChannelOwner,
        reactor: Reactor,
        max_frame_bytes: int,
        forget: Callable[[SocketChannel], None],
        context: ssl.SSLContext,
        host: str,
    ) -> None:
        super().__init__(owner, reactor, max_frame_bytes, forget)
        self._context = context
        self._host = host
        self._session: TlsSession | None = None

    def _connected(self) -> None:
        """TCP is there; TLS begins."""
        plain = self._socket
        assert plain is not None, "connected"
        session = self._session = TlsSession(plain, self._context, server_name=self._host)
        sock = self._socket = cast(socket.socket, session)
        self._out = TlsOutgoing(sock, session, self._flush)
        self._is_connecting = False
        session.go_on()
        self._flush()

    def on_readable(self) -> None:
        session = self._session
        if session is None:
            super().on_readable()
            return
        if not session.is_established and not self._shake_hands(session):
            return
        session.may_receive = True
        super().on_readable()
        while session.has_more and self.is_open:
            super().on_readable()

    def _shake_hands(self, session: TlsSession) -> bool:
        try:
            is_done = session.shake_hands()
        except BlockingIOError:
            return False
        except OSError as failed:
            if self._out is not None:
                with suppress(OSError):
                    self._out.send()  # the alert says why
            reason = getattr(failed, "verify_message", None) or getattr(failed, "reason", None)
            self.end(Down.BROKEN, f"TLS handshake failed: {reason or failed}")
            return False
        self._flush()
        if is_done and self.is_open:
            self._owner.on_up()
        return is_done and self.is_open

    def close(self) -> None:
        session, out = self._session, self._out
        if (
            self.is_open
            and session is not None
            and session.is_established
            and out is not None
            and not out.unsent_bytes
        ):
            session.say_goodbye()
        super().close()
