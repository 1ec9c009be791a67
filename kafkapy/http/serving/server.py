"""Sockets to Hypercorn: who may connect, TLS, and how long anybody may take.

Hypercorn speaks HTTP/1.1, HTTP/2 and WebSocket over a stream. The streams are made here, because
whose certificate a client shows is known to the stream alone, and because somebody who reads
nothing must not keep what waits to be sent for ever.
"""

import socket
from collections.abc import Callable
from functools import partial
from traceback import format_exc
from typing import TYPE_CHECKING, Any, Final, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from starlette.types import ASGIApp, Receive, Scope, Send

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.quotas.door import TurnedAway
from kafkapy.broker.security.authorizer.hosts import canonical_host
from kafkapy.core.seams import Journal
from kafkapy.http.entrance.entry import CERTIFIED, FULL, OPEN
from kafkapy.http.entrance.security import LISTENER
from kafkapy.http.kafka.link import NodeLink
from kafkapy.http.serving.connections import Connection, Connections
from kafkapy.http.serving.door import at_the_door
from kafkapy.http.serving.secured import NotSecured, secured_by
from kafkapy.http.serving.streams import CONNECTION

if TYPE_CHECKING:
    from kafkapy.server.tls.contexts import ListenerTls

_TLS_CHECK_SECONDS: Final = 5.0


class HttpServer:
    """Serves `app` on sockets that are bound already; `serve` ends once `stop` was called and
    those who were being answered are, or the time for that is up."""

    def __init__(
        self, app: ASGIApp, config: BrokerConfig, journal: Journal, link: NodeLink
    ) -> None:
        self._app = app
        self._link = link
        self._journal = journal
        self._settings = _settings(config)
        self._idle_seconds = config.http_idle_timeout_ms / 1000
        self._context = WorkerContext(None)
        self._stop = trio.Event()
        self._connections = Connections(config.http_max_connections)

    async def serve(
        self, sockets: "list[tuple[socket.socket, ListenerTls | None]]", grace_seconds: float
    ) -> None:
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for sock, tls in sockets:
                    listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
                    accepting.start_soon(
                        partial(
                            trio.serve_listeners,
                            partial(self._accept, tls),
                            [listener],
                            handler_nursery=connections,
                        )
                    )
                    if tls is not None:
                        accepting.start_soon(self._look_after, tls)
                await self._stop.wait()
                accepting.cancel_scope.cancel()
            await self._context.terminated.set()
            connections.cancel_scope.deadline = trio.current_time() + grace_seconds

    def stop(self) -> None:
        self._stop.set()

    async def _accept(self, tls: "ListenerTls | None", stream: trio.SocketStream) -> None:
        connection = self._connections.enter(stream.socket.close)
        try:
            with connection.scope:
                host = canonical_host(stream.socket.getpeername()[0])
                async with at_the_door(self._link, host) as turned_away:
                    if turned_away is None:
                        await self._serve(tls, stream, connection, host)
                    else:
                        await self._turn_away(turned_away, host)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
            pass  # the other side went, or took too long
        except Exception:
            # As with Kafka's protocol: one connection is given up, not the node.
            self._journal.error("bug", http="connection", trace=format_exc())
        finally:
            self._connections.leave(connection)
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                await trio.aclose_forcefully(stream)

    async def _serve(
        self,
        tls: "ListenerTls | None",
        stream: trio.SocketStream,
        connection: Connection,
        host: str,
    ) -> None:
        app = self._counted(connection)
        line = cast(Any, _Plain(stream, self._idle_seconds))
        if tls is not None:
            try:
                secured, principal = await secured_by(tls, stream)
            except NotSecured as failed:
                self._journal.warning(
                    "connection closed", listener=LISTENER, peer=host, reason=failed
                )
                return
            if principal is not None:
                self._journal.info(
                    "let in", listener=LISTENER, peer=host, principal=principal,
                    by="its certificate",
                )  # fmt: skip
                app = _certified(app, principal)
            line = _Secured(secured, stream, self._idle_seconds)
        await TCPServer(
            ASGIWrapper(cast(Any, app)), self._settings, self._context, ConnectionState({}), line
        )

    async def _turn_away(self, why: TurnedAway, host: str) -> None:
        self._journal.warning("connection refused", listener=LISTENER, peer=host, reason=why.reason)
        await trio.sleep(why.wait_ms / 1000)

    def _counted(self, connection: Connection) -> ASGIApp:
        async def with_connection(scope: Scope, receive: Receive, send: Send) -> None:
            is_health = scope["path"] in OPEN
            with self._connections.answering(connection, is_health=is_health) as may:
                scope[CONNECTION], scope[FULL] = connection, not may
                await self._app(scope, receive, send)

        return with_connection

    async def _look_after(self, tls: "ListenerTls") -> None:
        """Certificates whose files were replaced."""
        said = ""
        while True:
            await trio.sleep(_TLS_CHECK_SECONDS)
            try:
                if tls.refresh():
                    self._journal.info("certificates renewed", listener=tls.listener)
            except ConfigError as bad:
                if str(bad) != said:
                    said = str(bad)
                    self._journal.error("certificates not renewed", listener="HTTP", reason=bad)


def _certified(app: ASGIApp, principal: str) -> ASGIApp:
    async def with_principal(scope: Scope, receive: Receive, send: Send) -> None:
        scope[CERTIFIED] = principal
        await app(scope, receive, send)

    return with_principal


class _Bounded:
    """A stream whose reader has to read."""

    def __init__(self, stream: Any, seconds: float) -> None:
        self._stream = stream
        self._seconds = seconds

    async def receive_some(self, most: int) -> bytes:
        return cast(bytes, await self._stream.receive_some(most))

    async def send_all(self, data: bytes) -> None:
        with trio.move_on_after(self._seconds) as scope:
            await self._stream.send_all(data)
        if scope.cancelled_caught:
            await trio.aclose_forcefully(self._stream)
            raise trio.BrokenResourceError("the client reads nothing")

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Plain(_Bounded):
    def __init__(self, stream: trio.SocketStream, seconds: float) -> None:
        super().__init__(stream, seconds)
        self.socket = stream.socket
        self.send_eof: Callable[[], Any] = stream.send_eof


class _Secured(_Bounded):
    """As Hypercorn takes an SSLStream; its handshake is done."""

    def __init__(
        self,
        stream: "trio.SSLStream[trio.SocketStream]",
        transport: trio.SocketStream,
        seconds: float,
    ) -> None:
        super().__init__(stream, seconds)
        self.transport_stream = transport
        self.selected_alpn_protocol: Callable[[], Any] = stream.selected_alpn_protocol

    async def do_handshake(self) -> None:
        await trio.lowlevel.checkpoint()


def _settings(config: BrokerConfig) -> Config:
    settings = Config()
    settings.errorlog = None
    settings.accesslog = None
    settings.include_server_header = False
    settings.h11_max_incomplete_size = config.http_max_header_bytes
    settings.h2_max_header_list_size = config.http_max_header_bytes
    settings.websocket_max_message_size = config.http_max_request_bytes
    settings.keep_alive_timeout = config.http_idle_timeout_ms / 1000
    return settings
