"""Strangers by the hundred and other bad company, at a node behind real sockets: it serves on, and
none of them gets in."""

import socket
import ssl
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from shutil import which
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import encode_request
from kafkapy.server.sockets import settling
from kafkapy.testing import SecuredBroker

_HUNDREDS = 400
# What `settling` takes for the time, once everybody is overdue.
LATE = SimpleNamespace(monotonic=lambda: time.monotonic() + settling.SETTLED_WITHIN_SECONDS)


@pytest.fixture(scope="module")
def kafka() -> Iterator[SecuredBroker]:
    with SecuredBroker() as broker:
        broker.users.add("alice")
        yield broker


@pytest.fixture(scope="module")
def plain() -> Iterator[SecuredBroker]:
    """Without TLS: what is sent is what arrives."""
    with SecuredBroker(protocol="SASL_PLAINTEXT") as broker:
        broker.users.add("alice", "her secret")
        yield broker


def asked(api: ApiKey, version: int, **body: Any) -> bytes:
    return frame(request_head(api, version, 1, "hostile"), encode_request(api, version, body))


SHAKEN = asked(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
METADATA = asked(ApiKey.METADATA, 9, topics=None)


def hello() -> bytes:
    """A ClientHello, as a client of today sends it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def connected(kafka: SecuredBroker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", kafka.port), timeout=30)


def is_let_go(sock: socket.socket) -> bool:
    """Whether the node hangs up; what it says before is skipped."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def answer(sock: socket.socket) -> bytes:
    (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
    return sock.recv(size, socket.MSG_WAITALL)


def serves(kafka: SecuredBroker) -> bool:
    """Somebody honest comes, logs in and is answered."""
    admin = AdminClient(kafka.login("alice"))
    return bool(admin.list_topics(timeout=30).brokers)


def begin_nothing(sock: socket.socket) -> None:
    pass


def begin_a_record(sock: socket.socket) -> None:
    sock.sendall(hello()[:1])


def stop_in_the_middle_of_hello(sock: socket.socket) -> None:
    sock.sendall(hello()[:100])


def say_hello_and_no_more(sock: socket.socket) -> None:
    sock.sendall(hello())


DAWDLERS = (begin_nothing, begin_a_record, stop_in_the_middle_of_hello, say_hello_and_no_more)


def dawdle(stack: ExitStack, kafka: SecuredBroker, count: int) -> list[socket.socket]:
    crowd = []
    for number in range(count):
        sock = stack.enter_context(connected(kafka))
        DAWDLERS[number % len(DAWDLERS)](sock)
        crowd.append(sock)
    return crowd


def close_overdue(kafka: SecuredBroker) -> None:
    shell = kafka._running()._shell
    assert shell is not None

    def close(_: object) -> None:
        for listener in shell.listeners:
            listener.close_unsettled()

    kafka._call(close)


def test_hundreds_who_dawdle_keep_nobody_out_and_are_let_go_in_time(
    kafka: SecuredBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        crowd = dawdle(stack, kafka, _HUNDREDS)
        assert serves(kafka)
        close_overdue(kafka)
        assert serves(kafka)
        monkeypatch.setattr(settling, "time", LATE)
        close_overdue(kafka)
        assert all(is_let_go(sock) for sock in crowd)
    assert serves(kafka)


def test_when_too_many_dawdle_the_oldest_make_room(
    kafka: SecuredBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "MOST_UNSETTLED", 20)
    with ExitStack() as stack:
        crowd = dawdle(stack, kafka, 60)
        assert serves(kafka)
        assert all(is_let_go(sock) for sock in crowd[:40])
        crowd[-1].settimeout(0.01)
        assert not is_let_go(crowd[-1])


@pytest.mark.parametrize(
    "begin", [b"", b"\0", SHAKEN[:10], SHAKEN, SHAKEN + b"\0\0\1"], ids=["", "1", "10", "all", "+"]
)
def test_those_who_dawdle_without_tls_are_let_go_too(
    plain: SecuredBroker, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    with connected(plain) as sock:
        sock.sendall(begin)
        if begin.startswith(SHAKEN):
            answer(sock)
        assert serves(plain)
        monkeypatch.setattr(settling, "time", LATE)
        close_overdue(plain)
        assert is_let_go(sock)


@pytest.mark.parametrize("size", [524_289, 100_000_000, 2**31 - 1, -1, 7])
@pytest.mark.parametrize("is_shaken", [False, True])
def test_a_frame_of_that_size_is_not_waited_for(
    plain: SecuredBroker, size: int, is_shaken: bool
) -> None:
    """Before anybody is known it is at most sasl.server.max.receive.size."""
    with connected(plain) as sock:
        if is_shaken:
            sock.sendall(SHAKEN)
            answer(sock)
        sock.sendall(struct.pack(">i", size))
        assert is_let_go(sock)
    assert serves(plain)


def token(text: bytes) -> bytes:
    return asked(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=text)


GOOD = token(b"\0alice\0her secret")
ORDERS: dict[str, tuple[bytes, ...]] = {
    "a token before the handshake": (GOOD,),
    "a request in its place": (METADATA,),
    "a request after the handshake": (SHAKEN, METADATA),
    "a handshake in place of a token": (SHAKEN, SHAKEN),
    "no mechanism that there is": (asked(ApiKey.SASL_HANDSHAKE, 1, mechanism="GSSAPI"), GOOD),
    "a token of another mechanism": (
        asked(ApiKey.SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256"),
        GOOD,
    ),
    "a wrong one, then a good one": (SHAKEN, token(b"\0alice\0guessed"), GOOD),
    "an empty one": (SHAKEN, token(b"")),
    "of half a megabyte": (SHAKEN, token(b"\0alice\0" + b"x" * 500_000)),
}


@pytest.mark.parametrize("frames", ORDERS.values(), ids=ORDERS)
def test_frames_out_of_order_let_nobody_in(plain: SecuredBroker, frames: tuple[bytes, ...]) -> None:
    """All at once, and a request behind them that nobody may be answered."""
    with connected(plain) as sock:
        with suppress(ConnectionError):
            sock.sendall(b"".join(frames) + METADATA)
        told = bytearray()
        with suppress(ConnectionError):
            while more := sock.recv(65536):
                told += more
    assert b"127.0.0.1" not in told, "it was told of the brokers"
    assert serves(plain)


def test_what_was_heard_of_a_login_is_worth_nothing(kafka: SecuredBroker) -> None:
    """All bytes of a whole session, sent once more."""
    heard: list[bytes] = []
    context = ssl.create_default_context(cafile=str(kafka.certificates.authority))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")

    def exchange(sock: socket.socket, work: Callable[[], Any]) -> Any:
        while True:
            try:
                done = work()
            except ssl.SSLWantReadError:
                done = None
            sent = outgoing.read()
            if sent:
                heard.append(sent)
                sock.sendall(sent)
            if done is not None:
                return done
            incoming.write(sock.recv(65536))

    def shake() -> bool:
        client.do_handshake()
        return True

    with connected(kafka) as sock:
        exchange(sock, shake)
        plain_login = f"\0alice\0{kafka.users.password('alice')}".encode()
        for request in (SHAKEN, token(plain_login), METADATA):
            exchange(sock, lambda request=request: client.write(request))  # type: ignore[misc]
            told = exchange(sock, lambda: client.read(65536))
        assert b"127.0.0.1" in told, "the first time it is"
    before = kafka.requests("Metadata")
    with connected(kafka) as sock:
        with suppress(ConnectionError):
            for data in heard:
                sock.sendall(data)
        assert is_let_go(sock)
    assert kafka.requests("Metadata") == before
    assert serves(kafka)


# SSL 3.0 is not even known to be an older version: handshake failure.
OLD = {
    "SSL 3.0": (b"\x03\x00", 40),
    "TLS 1.0": (b"\x03\x01", 70),
    "TLS 1.1": (b"\x03\x02", 70),
}


@pytest.mark.parametrize(("version", "why"), OLD.values(), ids=OLD)
def test_nothing_older_than_tls_1_2_is_spoken(
    kafka: SecuredBroker, version: bytes, why: int
) -> None:
    """A hello that offers no more than that, with every suite there was."""
    suites = b"".join(struct.pack(">H", one) for one in (0x2F, 0x35, 0x0A, 0x04, 0xC013, 0xC014))
    body = version + bytes(32) + b"\0" + struct.pack(">H", len(suites)) + suites + b"\1\0"
    shake = b"\1" + len(body).to_bytes(3, "big") + body
    with connected(kafka) as sock:
        sock.sendall(b"\x16" + version + struct.pack(">H", len(shake)) + shake)
        told = sock.recv(1000)
        assert told[:1] == b"\x15", "an alert"
        assert tuple(told[5:7]) == (2, why), "fatal"
        assert is_let_go(sock)


@pytest.mark.parametrize("suites", ["aNULL", "eNULL", "RC4", "EXPORT", "DES"])
def test_no_suite_that_hides_nothing_is_taken(kafka: SecuredBroker, suites: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.set_ciphers(f"{suites}:@SECLEVEL=0")
    except ssl.SSLError:
        return  # this machine's OpenSSL cannot even ask for them
    with connected(kafka) as sock, pytest.raises(ssl.SSLError):
        context.wrap_socket(sock)


@pytest.mark.skipif(which("openssl") is None, reason="Python's own TLS cannot ask for it")
def test_nobody_shakes_hands_anew_in_a_session(kafka: SecuredBroker) -> None:
    """`R` has openssl ask for it; the answer is an alert, and the node serves on."""
    command = ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{kafka.port}"]
    done = subprocess.run(command, input=b"R\n", capture_output=True, timeout=30, check=False)
    assert b"RENEGOTIATING" in done.stdout + done.stderr
    assert b"no renegotiation" in (done.stdout + done.stderr).lower()
    assert serves(kafka)
