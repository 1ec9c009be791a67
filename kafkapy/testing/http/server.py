"""The test API's HTTP server: loopback only, a thread a connection, nothing but the standard
library.

    socket -> who asks? -> route -> fields checked -> handle -> JSON

It lets whoever reaches it do anything to the broker, so it listens on loopback addresses only,
and answers no request that a web page made: those carry an Origin, or a Host that is not this
machine.
"""

import ipaddress
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from kafkapy.core.addresses import shown
from kafkapy.core.errors import Refused
from kafkapy.testing.gate.faults import FaultNeverFired
from kafkapy.testing.http.kit import Kit
from kafkapy.testing.http.openapi import document, page, path_fields
from kafkapy.testing.http.routes import ROUTES, Field, Route
from kafkapy.testing.http.shapes import BadRequest
from kafkapy.testing.node.thread import BrokerDied

# A record may be as large as Kafka's default batch, in base64, with some room.
MAX_BODY_BYTES: Final = 16 * 1024 * 1024
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict, list),
}
_COMPILED: Final = [
    (route, re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", route.path) + "$")) for route in ROUTES
]


def loopback_address(text: str) -> tuple[str, int]:
    """HOST:PORT; ValueError unless it can only be reached from this machine."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{text}: expected HOST:PORT, for example 127.0.0.1:9099")
    if not _is_loopback(host.strip("[]")):
        raise ValueError(f"{text}: the test API listens on loopback addresses only")
    return host.strip("[]"), int(port)


class TestApi:
    """Serves `kit` from the moment it is made until `close`."""

    __test__ = False  # the name is not pytest's

    def __init__(self, kit: Kit, host: str, port: int) -> None:
        class Bound(_Handler):
            served = kit

        class Server(ThreadingHTTPServer):
            address_family = 10 if ":" in host else 2  # AF_INET6, AF_INET
            daemon_threads = True
            block_on_close = False

        self._server = Server((host, port), Bound)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="kafkapy-test-api", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{shown(str(host), port)}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Failed(Exception):
    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.answer = {"error": error, "message": message}


class _Handler(BaseHTTPRequestHandler):
    served: Kit
    protocol_version = "HTTP/1.1"
    # A connection that says nothing is given up after this many seconds.
    timeout = 60

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/":
            self._send(200, "text/html; charset=utf-8", page().encode())
        else:
            self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        status = 200
        try:
            answer = self._answer()
        except _Failed as failed:
            status, answer = failed.status, failed.answer
        except (BadRequest, ValueError) as bad:
            status, answer = 400, {"error": "BAD_REQUEST", "message": str(bad)}
        except LookupError as missing:
            status, answer = 404, {"error": "NOT_FOUND", "message": str(missing)}
        except Refused as refused:
            status, answer = 409, {"error": refused.code.name, "message": str(refused)}
        except BrokerDied as died:
            status, answer = 409, {"error": "NOT_RUNNING", "message": str(died)}
        except FaultNeverFired as unused:
            status, answer = 409, {"error": "FAULT_NEVER_FIRED", "message": str(unused)}
        except TimeoutError as late:
            status, answer = 504, {"error": "TIMEOUT", "message": str(late)}
        self._send(status, "application/json", json.dumps(answer, indent=1).encode() + b"\n")

    def _answer(self) -> Any:
        body = self._body()  # read whatever comes of it: the next request stands behind it
        self._check_who_asks()
        url = urlsplit(self.path)
        if url.path == "/openapi.json" and self.command == "GET":
            return document()
        route, in_path = self._route(url.path)
        fields = {one.name: one for one in (*path_fields(route), *route.query)}
        texts = {**dict(parse_qsl(url.query, keep_blank_values=True)), **in_path}
        given = {name: _parsed(_known(fields, name), text) for name, text in texts.items()}
        given |= _checked(route, body)
        return route.handle(self.served, given)

    def _body(self) -> bytes:
        try:
            size = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            size = -1
        if "Transfer-Encoding" in self.headers or not 0 <= size <= MAX_BODY_BYTES:
            self.close_connection = True
            raise _Failed(413, "BAD_LENGTH", f"a body needs a length of at most {MAX_BODY_BYTES}")
        return self.rfile.read(size)

    def _check_who_asks(self) -> None:
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if not _is_loopback(host):
            raise _Failed(403, "FORBIDDEN", f"Host {host!r} is not this machine")
        if "Origin" in self.headers:
            raise _Failed(403, "FORBIDDEN", "web pages may not ask")

    def _route(self, path: str) -> tuple[Route, dict[str, str]]:
        others = []
        for route, pattern in _COMPILED:
            if (found := pattern.match(path)) is not None:
                if route.method == self.command:
                    return route, {name: unquote(one) for name, one in found.groupdict().items()}
                others.append(route.method)
        if others:
            raise _Failed(405, "METHOD_NOT_ALLOWED", f"{path} takes {', '.join(others)}")
        raise LookupError(f"there is nothing at {path}; see / for what there is")

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the output is the broker's."""


def _checked(route: Route, body: bytes) -> dict[str, Any]:
    """The fields of a body: JSON, known, of their kind, and those that must be there."""
    given: Any = {}
    if body:
        try:
            given = json.loads(body)
        except ValueError as bad:
            raise BadRequest(f"the body is not JSON: {bad}") from None
    if not isinstance(given, dict):
        raise BadRequest("the body is not a JSON object")
    fields = {one.name: one for one in route.body}
    for name, value in given.items():
        field = _known(fields, name)
        kinds = _KINDS[field.kind]
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise BadRequest(f"{name}: expected {field.kind}, not {json.dumps(value)[:60]}")
        _check_size(field, value)
    present: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
    missing = [one.name for one in route.body if one.is_required and one.name not in present]
    if missing:
        raise BadRequest(f"{', '.join(missing)}: must be given")
    return present


def _known(fields: Mapping[str, Field], name: str) -> Field:
    if name not in fields:
        raise BadRequest(f"unknown field {name!r}; known are {', '.join(fields) or 'none'}")
    return fields[name]


def _parsed(field: Field, text: str) -> Any:
    if field.kind != "integer":
        return text
    try:
        number = int(text)
    except ValueError:
        raise BadRequest(f"{field.name}: expected integer, not {text[:60]!r}") from None
    _check_size(field, number)
    return number


def _check_size(field: Field, value: Any) -> None:
    if isinstance(value, (int, float)) and not abs(value) < field.limit:
        raise BadRequest(f"{field.name}: {value} is too large")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
