"""HTTP beside a node: sockets that are bound before anything is written, and a thread of its own.

    the node's loop                        HTTP's thread
    Http(config)     bind, or CannotListen
    start  ------------------------------> trio.run: import what it needs, serve
    serving ------------------------------ (a word that pages look at)
    stop   ------------------------------> accept no more, answer who waits, end
    <------------------------------ then

Why a thread is said in docs/decisions/0008, and how the two share the interpreter in
serving/interpreter.py.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from traceback import format_exc
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

import trio

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.telemetry.telemetry import Telemetry
from kafkapy.core.addresses import shown
from kafkapy.core.seams import Callback, Journal
from kafkapy.http.alerting.rules import load
from kafkapy.http.entrance.security import check_secured, http_tls
from kafkapy.http.posting import SCHEMES
from kafkapy.http.serving.interpreter import let_others_go_first, prefer_this_thread
from kafkapy.server.run import Shell
from kafkapy.server.sockets.binding import CannotListen
from kafkapy.server.sockets.listener import listen

if TYPE_CHECKING:
    from kafkapy.http.kafka.link import NodeLink
    from kafkapy.http.rooms import Run
    from kafkapy.http.serving.server import HttpServer
    from kafkapy.http.site import Site

_LISTENERS: Final = "http.listeners"
_NEEDED: Final = ("starlette", "hypercorn", "jinja2", "msgpack")
_BACKLOG: Final = 128
# Who is being answered when the node is told to stop has so long,
_GRACE_SECONDS: Final = 2.0
# and a room that has failed is started again after so long.
_AGAIN_SECONDS: Final = 5.0


class HttpAddress(NamedTuple):
    host: str
    port: int
    has_tls: bool


class Http:
    """One per node. Everything but `_run` and what it calls is for the node's loop."""

    def __init__(self, config: BrokerConfig, journal: Journal) -> None:
        """ConfigError, or CannotListen, for what cannot be."""
        _check_parts()
        self._config = config
        self._journal = journal
        self._alerting = load(config.http_alerts_file)
        _check_endpoint(config.http_tracing_endpoint)
        addresses = parse_addresses(config.http_listeners)
        self._tls = http_tls(config, any(one.has_tls for one in addresses))
        check_secured(config, self._tls)
        self._sockets: list[tuple[socket.socket, bool]] = []
        for one in addresses:
            try:
                self._sockets.append((_bind(one), one.has_tls))
            except CannotListen:
                self._close_sockets()
                raise
        self._link: NodeLink | None = None
        self._shell: Shell | None = None
        self._server: HttpServer | None = None
        self.site: Site | None = None  # once it serves
        self._token: trio.lowlevel.TrioToken | None = None
        self._then: Callback | None = None
        self._run_soon: Callable[[Callback], None] | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = False
        self._lock = threading.Lock()

    @property
    def link(self) -> "NodeLink":
        """For a test that asks pages without a socket."""
        assert self._link is not None, "it was started"
        return self._link

    @property
    def addresses(self) -> tuple[str, ...]:
        """As URLs."""
        found = []
        for sock, has_tls in self._sockets:
            host, port = sock.getsockname()[:2]
            found.append(f"{'https' if has_tls else 'http'}://{shown(host, port)}")
        return tuple(found)

    def start(self, shell: Shell) -> None:
        from kafkapy.http.kafka.link import NodeLink

        self._shell = shell
        self._journal = shell.journal
        shell.node.telemetry = Telemetry(self._config.telemetry_max_bytes)
        self._run_soon = shell.reactor.run_soon
        self._link = NodeLink(shell.node, shell.reactor.run_soon, shell.turn)
        prefer_this_thread()
        self._thread = threading.Thread(target=self._run, name="kafkapy-http", daemon=True)
        self._thread.start()

    def serving(self) -> None:
        """The node serves from now on."""
        assert self._link is not None, "it was started"
        self._link.is_serving = True

    def broke(self, reason: str) -> None:
        """What was answered in this turn was not written."""
        if self._link is not None:
            self._link.broke(reason)

    def stop(self, then: Callback) -> None:
        """`then` on the node's loop, once nobody is answered any more."""
        if self._thread is None or not self._thread.is_alive():
            then()
            return
        self._then = then
        self._tell_to_stop()

    def close(self) -> None:
        """Let go of the sockets; any number of times. The thread, if it is still there, ends by
        itself."""
        if self._link is not None:
            self._link.is_serving = False
            self._link.close()
        self._tell_to_stop()
        self._close_sockets()

    def _close_sockets(self) -> None:
        for sock, _ in self._sockets:
            with suppress(OSError):
                sock.close()

    def _tell_to_stop(self) -> None:
        with self._lock:
            self._is_stopping = True
            token = self._token
        if token is not None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self._stop_server)

    # --- on HTTP's thread ---

    def _run(self) -> None:
        let_others_go_first()
        try:
            trio.run(self._main)
        except BaseException:
            self._journal.error("bug", http="server", trace=format_exc())
        finally:
            then, self._then = self._then, None
            if then is not None and self._run_soon is not None:
                with suppress(trio.RunFinishedError):
                    self._run_soon(then)

    async def _main(self) -> None:
        from kafkapy.http.app import make_app
        from kafkapy.http.rooms import all_runs
        from kafkapy.http.serving.server import HttpServer
        from kafkapy.http.site import Site

        assert self._link is not None, "it was started"
        assert self._shell is not None, "it was started"
        self.site = site = Site(
            self._config, self._journal, self._link, self._shell, self._alerting
        )
        self._server = HttpServer(make_app(site), self._config, self._journal, self._link)
        with self._lock:
            self._token = trio.lowlevel.current_trio_token()
            if self._is_stopping:
                return
        served = [(sock, self._tls if has_tls else None) for sock, has_tls in self._sockets]
        async with trio.open_nursery() as rooms:
            for name, run in all_runs().items():
                rooms.start_soon(self._keep_running, name, run, site)
            await self._server.serve(served, _GRACE_SECONDS)
            rooms.cancel_scope.cancel()

    async def _keep_running(self, name: str, run: "Run", site: "Site") -> None:
        while True:
            try:
                await run(site)
                return
            except Exception:
                self._journal.error("bug", http=name, trace=format_exc())
            await trio.sleep(_AGAIN_SECONDS)

    def _stop_server(self) -> None:
        if self._server is not None:
            self._server.stop()


def parse_addresses(texts: tuple[str, ...]) -> list[HttpAddress]:
    """Of http.listeners; ConfigError."""
    found = []
    for text in texts:
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            port = None
        if port is None or parts.scheme not in ("http", "https") or parts.path not in ("", "/"):
            asked = "an address is http://<host>:<port> or https://<host>:<port>."
            raise ConfigError(_LISTENERS, text, asked)
        found.append(HttpAddress(parts.hostname or "", port, parts.scheme == "https"))
    return found


def _check_endpoint(url: str | None) -> None:
    if url is not None and not url.startswith(SCHEMES):
        raise ConfigError("http.tracing.endpoint", url, "it is a URL, of http or https.")


def _check_parts() -> None:
    missing = [one for one in _NEEDED if find_spec(one) is None]
    if missing:
        told = f"HTTP needs {' and '.join(missing)}: pip install 'kafkapy[http]'"
        raise ConfigError(_LISTENERS, None, told)


def _bind(address: HttpAddress) -> socket.socket:
    try:
        return listen(address.host, address.port, _BACKLOG)
    except OSError as failed:
        where = shown(address.host or "*", address.port)
        told = f"cannot listen on {where} for HTTP: {failed.strerror}; choose with --http HOST:PORT"
        raise CannotListen(told) from None
