"""Who came in over HTTP and who did not is told as it is of Kafka's listeners, without secrets."""

import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio

from kafkapy.http.serving import secured as secured_module
from kafkapy.http.serving.connections import Connection
from kafkapy.testing import Broker
from kafkapy.testing.security.certificates import Authority
from tests.broker.security.gate import PASSWORD
from tests.http.entrance.test_login import SASL, add_carol, token
from tests.http.pages import client_of, logged, with_kafka

CAROLS = "her secret: ü"
GUESSED = "a-guessed-password"


@pytest.fixture
def secured() -> Iterator[Broker]:
    with Broker(SASL) as broker:
        with_kafka(broker, add_carol, "User:broker")
        yield broker


def test_who_logs_in_is_told_once_a_connection_with_what_it_was_known_by(secured: Broker) -> None:
    signed = {"authorization": f"Bearer {token(sub='dave', iat=1, exp=9_999_999_999)}"}
    with client_of(secured) as client:
        for _ in range(3):
            assert client.get("/api/v1/topics", auth=("alice", PASSWORD)).status_code == 200
            assert client.get("/api/v1/topics", auth=("carol", CAROLS)).status_code == 200
            assert client.get("/api/v1/topics", headers=signed).status_code == 200
    with client_of(secured) as client:
        assert client.get("/api/v1/topics", auth=("alice", PASSWORD)).status_code == 200
    told = logged(secured, "let in")
    assert [(one["principal"], one["by"]) for one in told] == [
        ("User:alice", "PLAIN"),
        ("User:carol", "SCRAM-SHA-512"),
        ("User:dave", "OAUTHBEARER"),
        ("User:alice", "PLAIN"),
    ]
    assert {one["peer"] for one in told} == {"127.0.0.1"}
    everything = str(secured.events())
    assert not [one for one in (PASSWORD, CAROLS, signed["authorization"]) if one in everything]


def test_who_does_not_log_in_is_told_with_user_and_mechanism(secured: Broker) -> None:
    user = "al\nice" + "x" * 100
    with client_of(secured) as client:
        for auth in (("carol", GUESSED), (user, GUESSED)):
            assert client.get("/api/v1/topics", auth=auth).status_code == 401
        for kind in ("Bearer", "Basic", "Digest"):
            headers = {"authorization": f"{kind} {GUESSED}"}
            assert client.get("/api/v1/topics", headers=headers).status_code == 401
        assert client.get("/api/v1/topics").status_code == 401  # a browser's first question
    told = logged(secured, "authentication failed")
    several = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
    assert [(one["mechanism"], one["user"]) for one in told] == [
        (several, "'carol'"),
        (several, ascii(user[:64])),
        ("OAUTHBEARER", "-"),
        ("-", "-"),
        ("-", "-"),
    ]
    assert GUESSED not in str(told)
    assert not logged(secured, "let in")


def test_a_connection_of_very_many_users_keeps_few_of_them() -> None:
    async def work() -> None:
        connection = Connection(lambda: None)
        assert [connection.was_told(one) for one in (1, 2, 1)] == [False, False, True]
        for one in range(1000):
            connection.was_told(one)
        assert len(connection._told) <= 100

    trio.run(work)


class Certified:
    """A broker whose HTTP asks for certificates, and who comes to it."""

    def __init__(self, directory: Path, **more: str) -> None:
        self.authority, self._directory = Authority(), directory
        server = self.authority.issue("server", hosts=("localhost",))
        self.settings = {
            "http.listeners": "https://127.0.0.1:0",
            "listener.name.http.ssl.keystore.type": "PEM",
            "listener.name.http.ssl.keystore.location": str(server.write(directory / "own.pem")),
            "listener.name.http.ssl.truststore.type": "PEM",
            "listener.name.http.ssl.truststore.location": str(
                self.authority.write(directory / "ca.pem")
            ),
            "listener.name.http.ssl.client.auth": "required",
            **{key.replace("_", "."): value for key, value in more.items()},
        }

    def context(self, name: str | None, **lasting: Any) -> ssl.SSLContext:
        found = ssl.create_default_context(cafile=str(self._directory / "ca.pem"))
        # What the server says of it is heard in the handshake.
        found.maximum_version = ssl.TLSVersion.TLSv1_2
        if name is not None:
            issued = self.authority.issue(name, **lasting)
            found.load_cert_chain(str(issued.write(self._directory / f"{name}.pem")))
        return found


class Line:
    """A connection that asks once, and stays."""

    def __init__(
        self, broker: Broker, context: ssl.SSLContext, session: ssl.SSLSession | None = None
    ) -> None:
        where = urlsplit(broker.http)
        self.answer = b""
        self._line: socket.socket = socket.create_connection((where.hostname, where.port), 30)
        with suppress(OSError):
            line = context.wrap_socket(
                self._line,
                server_hostname="localhost",
                session=session,
                do_handshake_on_connect=False,
            )
            self._line = line
            line.do_handshake()
            self.session, self.is_resumed = line.session, line.session_reused
            line.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            self.answer = line.recv(12)

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._line.close()


def test_whose_certificate_lets_it_in_is_told(tmp_path: Path) -> None:
    certified = Certified(tmp_path)
    with Broker(certified.settings) as broker:
        with Line(broker, certified.context("erin")) as line:
            assert line.answer == b"HTTP/1.1 200"
        [told] = logged(broker, "let in")
    assert told["principal"] == "User:CN=erin,O=kafkapy tests"
    assert (told["peer"], told["by"]) == ("127.0.0.1", "its certificate")


def closed(broker: Broker) -> str:
    """Why the last one was; the journal is told before its client hears of it, or soon after."""
    while not (told := logged(broker, "connection closed")):
        pass
    assert told[-1]["peer"] == "127.0.0.1"
    return str(told[-1]["reason"])


@pytest.mark.parametrize(
    ("name", "lasting", "reason"),
    [
        (None, {}, "PEER_DID_NOT_RETURN_A_CERTIFICATE"),
        ("erin", {"lasts": Authority.EXPIRED}, "CERTIFICATE_VERIFY_FAILED"),
        ("mallory", {}, "no rule of ssl.principal.mapping.rules fits CN=mallory"),
    ],
)
def test_whose_certificate_is_not_good_is_told(
    tmp_path: Path, name: str | None, lasting: dict[str, Any], reason: str
) -> None:
    rule = "RULE:^CN=(erin),.*$/$1/"
    certified = Certified(tmp_path, listener_name_http_ssl_principal_mapping_rules=rule)
    with Broker(certified.settings) as broker:
        with Line(broker, certified.context(name, **lasting)) as line:
            assert line.answer == b""
        assert closed(broker).startswith(f"TLS handshake failed: {reason}")
        assert not logged(broker, "let in")


def test_plain_text_on_a_port_of_tls_is_told(tmp_path: Path) -> None:
    with Broker(Certified(tmp_path).settings) as broker:
        where = urlsplit(broker.http)
        with socket.create_connection((where.hostname, where.port), 30) as line:
            line.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with suppress(ConnectionError):
                while line.recv(100):
                    pass
        assert "TLS handshake failed: HTTP_REQUEST" in closed(broker)


def test_who_resumes_a_session_is_known_by_a_certificate_that_is_still_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS 1.2, by the session's id, which is forgotten with the first of its connections to end."""
    certified = Certified(tmp_path)
    erins = certified.context("erin")
    with Broker(certified.settings) as broker, Line(broker, erins) as first:
        assert (first.answer, first.is_resumed) == (b"HTTP/1.1 200", False)
        with Line(broker, erins, first.session) as second:
            assert (second.answer, second.is_resumed) == (b"HTTP/1.1 200", True)
            in_a_month = time.time() + 30 * 24 * 3600
            monkeypatch.setattr(secured_module, "time", SimpleNamespace(time=lambda: in_a_month))
            with Line(broker, erins, first.session) as third:
                assert (third.answer, third.is_resumed) == (b"", True)
            assert "certificate of a resumed session has expired" in closed(broker)
