"""A TLS connection over a socketpair: frames in any size, slices, who is let in, hostile bytes."""

import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkapy.broker.requests.request import Answer, Call, Encoded, Later, Part, Peer, Resolved
from kafkapy.broker.security.certificate_names import subject_of
from kafkapy.core.seams import FileSlice
from kafkapy.core.time import Instant
from kafkapy.server.disk.real_disk import RealDisk
from kafkapy.server.sockets.connection import Connection
from kafkapy.server.tls import session
from kafkapy.server.tls.connection import TlsConnection
from kafkapy.server.tls.session import TlsSession
from kafkapy.testing.security.certificates import Authority, Certificate
from tests.server.sockets.test_network import NEVER_SECONDS, PumpedReactor
from tests.server.tls.chains import AUTHORITY
from tests.server.tls.contexts import client_context, server_context

SERVER = AUTHORITY.issue("server", hosts=("localhost",))
ALICE = AUTHORITY.issue("alice")


class Bench:
    """`answer` makes the answer to a request; echoes until told otherwise."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.reactor = PumpedReactor()
        self.answer: Callable[[bytes], Answer] = lambda data: Encoded((framed(data),))
        self.requests: list[bytes] = []
        self.reason: str | None = None
        self.is_closed = False
        self.principal: str | None = None
        ours, self.theirs = socket.socketpair()
        for sock in (ours, self.theirs):
            sock.setblocking(False)
        self.peer = Peer("SSL", "test")
        self.connection = TlsConnection(
            TlsSession(ours, context),
            self.peer,
            self.reactor,
            self._dispatch,
            encode,
            self._closed,
            1 << 24,
            self._established,
        )
        self.received = bytearray()

    def _dispatch(self, request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
        self.requests.append(bytes(request))
        return Call(0, 0, 0, None, None, peer, Instant(0)), self.answer(bytes(request))

    def _established(self, peer: Peer, session: TlsSession) -> None:
        certificate = session.peer_certificate()
        self.principal = "" if certificate is None else subject_of(certificate)

    def _closed(self, connection: Connection, reason: str | None) -> None:
        self.is_closed, self.reason = True, reason

    def pump(self, until: Callable[[], bool]) -> None:
        end = time.monotonic() + NEVER_SECONDS
        while not until():
            assert time.monotonic() < end, "it never happens"
            self.reactor.round()

    def close(self) -> None:
        self.connection.close(None)
        self.theirs.close()
        self.reactor.close()


class Client:
    """Reads as much as it is told to, so that the other side meets a full socket."""

    def __init__(
        self, bench: Bench, context: ssl.SSLContext, resumed: ssl.SSLSession | None = None
    ) -> None:
        self.bench = bench
        self.session = TlsSession(bench.theirs, context, server_name="localhost")
        if resumed is not None:
            self.session._ssl.session = resumed
        self.session.go_on()
        self.to_send: deque[memoryview] = deque()
        self.received = bytearray()
        self.error: str | None = None
        self.is_at_end = False
        self.reads = True

    def step(self) -> bool:
        """One thing at a time, so that a test can wait for it."""
        session = self.session
        try:
            if not session.is_established:
                self._push()
                session.shake_hands()
            self._push()
            if session.is_established and self.reads:
                self._read()
        except BlockingIOError:
            pass
        except OSError as failed:
            self.error = getattr(failed, "reason", None) or str(failed)
        return bool(self.error) or self.is_at_end

    def _push(self) -> None:
        data = self.session.take()
        if data:
            self.to_send.append(memoryview(data))
        while self.to_send:
            head = self.to_send[0]
            try:
                sent = self.bench.theirs.send(head)
            except BlockingIOError:
                return
            if sent < len(head):
                self.to_send[0] = head[sent:]
                return
            self.to_send.popleft()

    def _read(self) -> None:
        buffer = memoryview(bytearray(300_000))
        self.session.may_receive = True
        count = self.session.recv_into(buffer)
        self.received += buffer[:count]
        self.is_at_end = count == 0

    def send(self, plaintext: bytes) -> None:
        self.session.seal(plaintext)

    def until(self, condition: Callable[[], bool]) -> None:
        def met() -> bool:
            self.step()
            return condition()

        self.bench.pump(met)

    def shake_hands(self) -> None:
        self.until(lambda: self.session.is_established and self.bench.principal is not None)


def encode(call: Call[Any], answer: Resolved) -> tuple[Part, ...]:
    assert isinstance(answer, Encoded)
    return tuple(answer.parts)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(server_context(SERVER, AUTHORITY))
    yield bench
    bench.close()


@pytest.fixture
def client(bench: Bench) -> Client:
    client = Client(bench, client_context(AUTHORITY))
    client.shake_hands()
    return client


def test_frames_of_any_size_come_and_go_whole_and_in_order(bench: Bench, client: Client) -> None:
    """Around a record, around the buffers, and larger than all of them."""
    sizes = (8, 16_384, 16_385, 9, 131_072, 262_144, 262_145, 300_000, 3_000_000, 10)
    sent = [bytes([n]) * size for n, size in enumerate(sizes)]
    for body in sent:
        client.send(framed(body))
    expected = b"".join(framed(body) for body in sent)
    client.until(lambda: len(client.received) >= len(expected))
    assert bench.requests == sent
    assert client.received == expected


def test_many_small_frames_in_one_record_are_all_served_without_another_event(
    bench: Bench, client: Client
) -> None:
    client.send(b"".join(framed(b"request" + bytes([n])) for n in range(200)))
    client.until(lambda: len(client.received) == 200 * 12)
    assert len(bench.requests) == 200


def test_who_does_not_read_is_not_read_from_and_later_gets_it_all(
    bench: Bench, client: Client
) -> None:
    bench.answer = lambda data: Encoded((framed(data * 8),))
    client.reads = False
    for n in range(40):
        client.send(framed(bytes([n]) * 100_000))
    client.until(lambda: bench.connection._out.unsent_bytes > 8 << 20)
    served = len(bench.requests)
    assert served < 40
    client.reads = True
    client.until(lambda: len(client.received) == 40 * (4 + 800_000))
    assert len(bench.requests) == 40
    assert bench.connection._out.unsent_bytes == 0


def test_who_asks_much_in_one_record_without_reading_is_answered_as_it_reads(
    bench: Bench, client: Client
) -> None:
    bench.answer = lambda _: Encoded((framed(bytes(5 << 20)),))
    client.reads = False
    client.send(framed(b"question") * 8)
    client.until(lambda: bench.connection._out.unsent_bytes > 8 << 20)
    assert len(bench.requests) < 4
    client.reads = True
    client.until(lambda: len(client.received) == 8 * (4 + (5 << 20)))
    assert len(bench.requests) == 8
    bench.answer = lambda data: Encoded((framed(data),))
    client.send(framed(b"the last"))
    client.until(lambda: client.received[-12:] == framed(b"the last"))


def test_slices_of_files_are_sealed_among_bytes(
    bench: Bench, client: Client, tmp_path: Path
) -> None:
    def at_once(work: Callable[[], None], then: Callable[[], None]) -> None:
        work()
        then()

    disk = RealDisk(at_once, 16)
    data = bytes(n % 251 for n in range(1_500_000))
    (tmp_path / "file").write_bytes(data)
    file = disk.open(f"{tmp_path}/file")

    def piece(start: int, size: int) -> FileSlice:
        return file.slice(start, size)

    bench.answer = lambda _: Encoded((b"head", piece(10, 400_000), b"mid", piece(7, 5),
                                      piece(0, len(data)), b"tail"))  # fmt: skip
    expected = b"head" + data[10:400_010] + b"mid" + data[7:12] + data + b"tail"
    client.send(framed(b"fetch it"))
    client.until(lambda: len(client.received) == len(expected))
    assert client.received == expected
    assert bench.connection._out.unsent_bytes == 0
    file.close()
    disk.close()


def test_an_answer_that_comes_later_is_sealed_then(bench: Bench, client: Client) -> None:
    promise = Later()
    bench.answer = lambda _: promise
    client.send(framed(b"when you can"))
    client.until(lambda: bool(bench.requests))
    promise.resolve(Encoded((framed(b"now"),)))
    client.until(lambda: client.received == framed(b"now"))


def test_the_end_is_told_in_order(bench: Bench, client: Client) -> None:
    client.send(framed(b"the last"))
    client.until(lambda: bool(client.received))
    bench.connection.close(None)
    client.until(lambda: client.is_at_end)
    assert client.error is None
    assert client.received == framed(b"the last")


def test_a_client_that_says_goodbye_is_let_go(bench: Bench, client: Client) -> None:
    client.session.say_goodbye()
    bench.pump(lambda: bench.is_closed)
    assert bench.reason is None


# Who is let in.


def connects(client_auth: str, own: Certificate | None) -> tuple[Bench, Client]:
    bench = Bench(server_context(SERVER, AUTHORITY, client_auth))
    client = Client(bench, client_context(AUTHORITY, own))
    client.until(lambda: bench.principal is not None or bench.is_closed)
    return bench, client


@pytest.mark.parametrize(
    ("client_auth", "own", "principal"),
    [
        ("none", ALICE, ""),
        ("requested", None, ""),
        ("requested", ALICE, "CN=alice,O=kafkapy tests"),
        ("required", ALICE, "CN=alice,O=kafkapy tests"),
    ],
)
def test_who_shows_a_certificate_is_known_by_it(
    client_auth: str, own: Certificate | None, principal: str
) -> None:
    bench, _ = connects(client_auth, own)
    assert bench.principal == principal
    assert not bench.is_closed
    bench.close()


@pytest.mark.parametrize(
    ("client_auth", "own", "reason"),
    [
        ("required", None, "PEER_DID_NOT_RETURN_A_CERTIFICATE"),
        ("required", Authority().issue("mallory"), "CERTIFICATE_VERIFY_FAILED"),
        ("requested", Authority().issue("mallory"), "CERTIFICATE_VERIFY_FAILED"),
        ("required", AUTHORITY.issue("old", lasts=Authority.EXPIRED), "CERTIFICATE_VERIFY_FAILED"),
    ],
)
def test_who_cannot_show_a_good_one_is_told_so_and_closed(
    client_auth: str, own: Certificate | None, reason: str
) -> None:
    bench, client = connects(client_auth, own)
    assert bench.is_closed
    assert bench.principal is None
    assert reason in str(bench.reason)
    client.until(lambda: client.error is not None)
    assert "ALERT" in str(client.error)
    assert bench.requests == []
    bench.close()


def test_a_principal_that_no_rule_makes_is_not_let_in() -> None:
    bench = Bench(server_context(SERVER, AUTHORITY, "required"))

    def nobody(peer: Peer, session: TlsSession) -> None:
        raise OSError("no rule fits")

    bench.connection._established = nobody
    client = Client(bench, client_context(AUTHORITY, ALICE))
    client.until(lambda: bench.is_closed)
    assert "no rule fits" in str(bench.reason)
    bench.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_are_spoken(bench: Bench, version: ssl.TLSVersion) -> None:
    context = client_context(AUTHORITY)
    context.minimum_version = context.maximum_version = version
    client = Client(bench, context)
    client.shake_hands()
    client.send(framed(b"x" * 100_000))
    client.until(lambda: len(client.received) == 100_004)


def test_who_resumes_a_session_is_known_by_a_certificate_that_is_still_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TLS 1.2, by the session's id; of TLS 1.3 there are no tickets."""
    server, alices = server_context(SERVER, AUTHORITY, "required"), client_context(AUTHORITY, ALICE)
    alices.maximum_version = ssl.TLSVersion.TLSv1_2
    resumed: ssl.SSLSession | None = None

    def comes() -> Bench:
        nonlocal resumed
        bench = Bench(server)
        client = Client(bench, alices, resumed)
        client.until(lambda: bench.principal is not None or bench.is_closed)
        assert client.session._ssl.session_reused is (resumed is not None)
        resumed = client.session._ssl.session
        bench.close()
        return bench

    comes()
    assert comes().principal == "CN=alice,O=kafkapy tests"
    in_a_month = time.time() + 30 * 24 * 3600
    monkeypatch.setattr(session, "time", SimpleNamespace(time=lambda: in_a_month))
    bench = comes()
    assert bench.principal is None
    assert "certificate of a resumed session has expired" in str(bench.reason)


# Hostile bytes.


def test_plain_text_is_not_served(bench: Bench) -> None:
    bench.theirs.send(framed(b"\0\x12\0\0\0\0\0\1plain text"))
    bench.pump(lambda: bench.is_closed)
    assert "TLS handshake failed" in str(bench.reason)
    assert bench.requests == []


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(min_size=1, max_size=300), looks_like_tls=st.booleans())
def test_of_any_bytes_nothing_is_served(data: bytes, looks_like_tls: bool) -> None:
    bench = Bench(server_context(SERVER, AUTHORITY))
    if looks_like_tls:
        data = b"\x16\x03\x01" + struct.pack(">H", len(data)) + data
    bench.theirs.send(data)
    bench.reactor.round()
    assert bench.requests == []
    assert bench.principal is None
    bench.close()


def test_a_record_that_was_changed_ends_the_connection(bench: Bench, client: Client) -> None:
    client.send(framed(b"transfer 10"))
    changed = bytearray(client.session.take())
    changed[-1] ^= 1
    bench.theirs.send(changed)
    bench.pump(lambda: bench.is_closed)
    assert bench.requests == []
