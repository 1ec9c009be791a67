"""Fetching from a real web server, honest and otherwise."""

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import pytest
import trio

from kafkapy.broker.config.security.tls import PEM, Store
from kafkapy.broker.security.fetching import FetchRequest
from kafkapy.core.seams import Callback
from kafkapy.server.web import Web
from kafkapy.testing.security.certificates import Authority

NOBODY = Store("ssl.truststore", PEM, None)
KEYS = b'{"keys": []}'


class _Provider(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answers = {
            "/keys": (200, KEYS, {}),
            "/large": (200, b"x" * 10_000, {}),
            "/moved": (302, b"", {"Location": "/keys"}),
        }
        status, body, headers = answers.get(self.path, (404, b"", {}))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def serve(context: ssl.SSLContext | None = None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scheme = "http" if context is None else "https"
    yield f"{scheme}://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    yield from serve()


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def secure(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pem = authority.issue("provider", hosts=("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem.write(tmp_path_factory.mktemp("provider") / "provider.pem"))
    yield from serve(context)


def fetched(url: str, trusted: Store = NOBODY, most_bytes: int = 1000) -> bytes | str:
    answers: Queue[bytes | OSError] = Queue()
    loop: Queue[Callback] = Queue()
    Web(loop.put).fetch(FetchRequest(url, trusted, 5000, 5000, most_bytes), answers.put)
    loop.get(timeout=20)()
    answer = answers.get_nowait()
    return answer if isinstance(answer, bytes) else str(answer)


def trusting(authority: Authority) -> Store:
    return Store("ssl.truststore", PEM, None, pem_certificates=authority.pem)


def test_what_stands_there(plain: str) -> None:
    assert fetched(f"{plain}/keys") == KEYS


def test_behind_tls_whom_it_is_told_to_trust(secure: str, authority: Authority) -> None:
    assert fetched(f"{secure}/keys", trusting(authority)) == KEYS


def test_nobody_else_is_believed(secure: str) -> None:
    for trusted in (trusting(Authority()), NOBODY):
        answer = fetched(f"{secure}/keys", trusted)
        assert isinstance(answer, str)
        assert "certificate verify failed" in answer.lower().replace("_", " ")


@pytest.mark.parametrize(
    ("path", "why"),
    [("/large", "more than 1000 bytes"), ("/moved", "answered 302"), ("/nowhere", "answered 404")],
)
def test_what_is_not_taken(plain: str, path: str, why: str) -> None:
    answer = fetched(plain + path)
    assert isinstance(answer, str)
    assert why in answer


def test_who_is_not_there(plain: str) -> None:
    assert "refused" in str(fetched("http://127.0.0.1:1/keys")).lower()


def test_a_loop_that_is_gone_hears_nothing(plain: str) -> None:
    gone: Queue[None] = Queue()

    def run_soon(then: Callback) -> None:
        gone.put(None)
        raise trio.RunFinishedError

    Web(run_soon).fetch(FetchRequest(f"{plain}/keys", NOBODY, 5000, 5000, 1000), _nobody)
    gone.get(timeout=20)


def _nobody(_: bytes | OSError) -> None:
    raise AssertionError("nobody is there")


def test_a_trust_store_that_cannot_be_read_is_told(plain: str, tmp_path: Path) -> None:
    missing = Store("ssl.truststore", PEM, str(tmp_path / "missing.pem"))
    assert "cannot be read" in str(fetched(f"{plain}/keys", missing))
