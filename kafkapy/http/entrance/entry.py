"""What every request passes before a page sees it, and every answer on its way out.

    room        more ask at a time than may (serving/connections.py)       503
    Host        asked by another name than this node's (DNS rebinding)     421
    Origin      a page of somebody else's, in somebody's browser           403, or CORS; origins.py
    head        longer than http.max.header.bytes                          431
    body        longer than http.max.request.bytes                         413
    login       who it is (login.py); not for what is OPEN                 401, after a while
    quota       has used more than it may (kafka/throttled.py)             429
    time        nothing to say within http.request.timeout.ms              504

An answer that has begun may take as long as its reader keeps reading.
"""

from collections import Counter
from collections.abc import Iterable
from ipaddress import ip_address
from traceback import format_exc
from typing import Any, Final
from urllib.parse import urlsplit

import trio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.core.seams import Journal
from kafkapy.http.entrance.login import Known, Logins, NotLetIn
from kafkapy.http.entrance.origins import is_foreign
from kafkapy.http.entrance.security import LISTENER
from kafkapy.http.problems import problem
from kafkapy.http.serving.connections import Connection
from kafkapy.http.serving.streams import CONNECTION
from kafkapy.http.site import PRINCIPAL, peer_of

# Asked by those who cannot log in (docker, Kubernetes), and telling nothing but yes or no.
OPEN: Final = frozenset({"/health/live", "/health/ready"})
# What changes something all the same asks for itself whose page it is (origins.py).
_READING: Final = frozenset({"GET", "HEAD"})
# By which answers are counted. Anybody may send any word as a method: the others are one.
_COUNTED: Final = _READING | {"OPTIONS", "POST", "PUT", "PATCH", "DELETE", "WEBSOCKET"}
_OTHER: Final = "other"
_NO_CACHE: Final = (b"cache-control", b"no-store")
_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_ALLOWED_METHODS: Final = "GET, POST, PUT, PATCH, DELETE"
_ALLOWED_HEADERS: Final = (
    "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id"
)
# What a page's script may read of an answer, beside what browsers always let it read.
_EXPOSED_HEADERS: Final = b"etag, location, idempotency-replayed, retry-after"
# Of an answer, and of one that refuses a WebSocket.
_STARTS: Final = frozenset({"http.response.start", "websocket.http.response.start"})
_SWITCHED: Final = 101
_BROKEN: Final = 1011
# Of a user's name, in the journal.
_SHOWN_CHARACTERS: Final = 64
_CORS_SECONDS: Final = "600"
# Where the server puts whose certificate the client has shown (serving/server.py).
CERTIFIED: Final = "kafkapy.certified"
# Whether as many connections are busy as may be (serving/server.py); never said of what is OPEN.
FULL: Final = "kafkapy.full"
# How much of its body a request has sent; a page that reads without end says 0 of what it has done.
READ: Final = "kafkapy.read"


class Entry:
    def __init__(
        self,
        app: ASGIApp,
        config: BrokerConfig,
        logins: Logins,
        journal: Journal,
        own_names: Iterable[str] = (),
        answered: "Counter[tuple[str, int]] | None" = None,
    ) -> None:
        """`answered`: counts (method, status)."""
        self._answered: Counter[tuple[str, int]] = Counter() if answered is None else answered
        self._app = app
        self._logins = logins
        self._journal = journal
        self._max_bytes = config.http_max_request_bytes
        self._max_header_bytes = config.http_max_header_bytes
        self._timeout_seconds = config.http_request_timeout_ms / 1000
        self._origins = frozenset(config.http_cors_allowed_origins)
        names = {*config.http_allowed_hosts, *own_names}
        self._hosts = frozenset(one.lower() for one in names if one)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        counted = self._counted(scope, _with_headers(scope, send, self._origins))
        refused = await self._refusal(scope, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, counted)
            return
        await self._in_time(scope, receive, counted)

    def _counted(self, scope: Scope, send: Send) -> Send:
        asked = str(scope.get("method", "WEBSOCKET"))
        method = asked if asked in _COUNTED else _OTHER

        async def counted(message: Message) -> None:
            if message["type"] in _STARTS:
                self._answered[method, int(message["status"])] += 1
            elif message["type"] == "websocket.accept":
                self._answered[method, _SWITCHED] += 1
            await send(message)

        return counted

    async def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if scope.get(FULL):
            return problem(503, "http.max.connections are busy", {"retry-after": "1"})
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if size > self._max_header_bytes:
            return problem(431, f"{size} bytes of headers; {self._max_header_bytes} are read")
        host = headers.get("host", "")
        if not self._is_own(host):
            return problem(
                421, f"this node is not called {host}: name it in http.allowed.hosts, if it is"
            )
        method = scope.get("method", "GET")
        is_read = method in _READING and scope["type"] == "http"
        if not is_read and is_foreign(headers, self._origins):
            return problem(403, "a page of another origin asks: http.cors.allowed.origins")
        if method == "OPTIONS" and "access-control-request-method" in headers:
            return Response(None, 204, _preflight())
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._max_bytes:
            return problem(413, f"a body of {length} bytes; {self._max_bytes} are read at most")
        if scope["path"] in OPEN:
            return None
        return await self._unknown(scope, headers)

    async def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        try:
            known = await self._logins.log_in(headers.get("authorization"), scope.get(CERTIFIED))
        except NotLetIn as failed:
            if "authorization" in headers:
                await self._say_failed(scope, failed)
            response = problem(401, "log in as one of this cluster's users")
            for one in self._logins.challenges:
                response.headers.append("www-authenticate", one)
            return response
        scope[PRINCIPAL] = known.principal
        self._say_let_in(scope, known)
        wait_ms = self._logins.throttled_ms(known.principal, peer_of(scope))
        if not wait_ms:
            return None
        seconds = str(-(-wait_ms // 1000))
        return problem(429, "its quota is used up for now", {"retry-after": seconds})

    def _say_let_in(self, scope: Scope, known: Known) -> None:
        """Once a connection, however often it asks."""
        connection: Connection | None = scope.get(CONNECTION)
        if known.by is None or (connection is not None and connection.was_told(known)):
            return
        peer = peer_of(scope) or "-"
        self._journal.info(
            "let in", listener=LISTENER, peer=peer, principal=known.principal, by=known.by
        )

    async def _say_failed(self, scope: Scope, failed: NotLetIn) -> None:
        """Slowly, as Kafka's listeners do: so is guessing."""
        self._journal.warning(
            "authentication failed",
            listener=LISTENER,
            peer=peer_of(scope) or "-",
            mechanism=failed.mechanism or "-",
            user=ascii(failed.user[:_SHOWN_CHARACTERS]) if failed.user else "-",
            reason=failed,
        )
        await trio.sleep(self._logins.failure_delay_seconds)

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if not host or "*" in self._hosts or name in self._hosts:
            return True
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    async def _in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False
        scope[READ] = 0

        async def receive_some() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                scope[READ] += len(message.get("body", b""))
            if scope[READ] > self._max_bytes:
                raise HTTPException(413, f"a body of more than {self._max_bytes} bytes")
            return message

        async def send_some(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            scoped.deadline = float("inf")
            await send(message)

        with trio.move_on_after(self._timeout_seconds) as scoped:
            try:
                await self._app(scope, receive_some, send_some)
            except Exception:
                if scope["type"] == "http":
                    raise  # somebody has said so (problems.py)
                self._journal.error("bug", http=scope["path"], trace=format_exc())
                await send({"type": "websocket.close", "code": _BROKEN})
        if scoped.cancelled_caught and not has_begun:
            late = problem(504, f"no answer within {self._timeout_seconds} s")
            await late(scope, receive, send)


def _preflight() -> dict[str, str]:
    return {
        "access-control-allow-methods": _ALLOWED_METHODS,
        "access-control-allow-headers": _ALLOWED_HEADERS,
        "access-control-max-age": _CORS_SECONDS,
    }


def _with_headers(scope: Scope, send: Send, origins: frozenset[str]) -> Send:
    origin = Headers(scope=scope).get("origin")
    more = list(_ALWAYS)
    if origin is not None and origin in origins:
        more.append((b"access-control-allow-origin", origin.encode()))
        more.append((b"access-control-allow-credentials", b"true"))
        more.append((b"access-control-expose-headers", _EXPOSED_HEADERS))
    if origins:
        more.append((b"vary", b"origin"))

    if scope["type"] == "websocket" and scope.get("http_version") == "1.1":
        # Hypercorn ends a connection on which it has refused one: who was not told so would ask
        # again on it, and hear nothing.
        more.append((b"connection", b"close"))

    async def send_with(message: Message) -> None:
        if message["type"] in _STARTS:
            headers: list[Any] = list(message.get("headers", ()))
            names = {name for name, _ in headers}
            headers += [one for one in (*more, _NO_CACHE) if one[0] not in names]
            message = {**message, "headers": headers}
        await send(message)

    return send_with
