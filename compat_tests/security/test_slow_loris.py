"""Thousands who speak one byte now and then, at a node's secured listeners: it serves on, holds no
more of them than it says, and none for longer than half a minute however they keep talking.

Of kafkapy alone: Apache Kafka has neither bound.
"""

import selectors
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.security.servers import Secured, Way, secured_server
from compat_tests.security.test_confluent_kafka import settings
from compat_tests.targets import KAFKAPY
from compat_tests.waiting import wait_for
from kafkapy.server.sockets.settling import MOST_UNSETTLED

pytestmark = pytest.mark.slow
_EACH: Final = 2 * MOST_UNSETTLED
_LISTENERS: Final = ("SASL_SSL", "MTLS", "SASL_PLAINTEXT")
# Nobody's handshake is done within its bytes at this pace.
_PACE_S: Final = 0.5
# A frame of 200 bytes that never is whole.
_LOGIN: Final = b"\0\0\0\xc8\0\x11\0\1"


def hello() -> bytes:
    """The beginning of a client's handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


class Crowd:
    """In a thread of its own."""

    def __init__(self, server: Secured) -> None:
        self.alive: Counter[str] = Counter()
        self._words = {one: _LOGIN if one == "SASL_PLAINTEXT" else hello() for one in _LISTENERS}
        self._said: dict[socket.socket, int] = {}
        self._at: dict[socket.socket, str] = {}
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        for listener in _LISTENERS:
            host, _, port = server.address(listener).partition(":")
            for _ in range(_EACH):
                self._add(socket.create_connection((host, int(port)), timeout=30), listener)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for sock in list(self._said):
            self._let_go(sock)
        self._selector.close()

    def _add(self, sock: socket.socket, listener: str) -> None:
        sock.setblocking(False)
        self._said[sock], self._at[sock] = 0, listener
        self._selector.register(sock, selectors.EVENT_READ)
        self.alive[listener] += 1

    def _run(self) -> None:
        while not self._stop.wait(_PACE_S):
            for sock in list(self._said):
                self._say_one_more(sock)
            for key, _ in self._selector.select(0):
                assert isinstance(key.fileobj, socket.socket)
                self._listen(key.fileobj)

    def _say_one_more(self, sock: socket.socket) -> None:
        words, said = self._words[self._at[sock]], self._said[sock]
        try:
            sock.send(words[said : said + 1] or b"\0")
        except OSError:
            self._let_go(sock)
        else:
            self._said[sock] += 1

    def _listen(self, sock: socket.socket) -> None:
        try:
            is_there = bool(sock.recv(4096)) if sock in self._said else True
        except BlockingIOError:
            return
        except OSError:
            is_there = False
        if not is_there:
            self._let_go(sock)

    def _let_go(self, sock: socket.socket) -> None:
        self._selector.unregister(sock)
        self.alive[self._at.pop(sock)] -= 1
        del self._said[sock]
        sock.close()


@contextmanager
def crowd_at(server: Secured) -> Iterator[Crowd]:
    crowd = Crowd(server)
    try:
        yield crowd
    finally:
        crowd.close()


def comes_in(server: Secured, listener: str, topic: str, value: str) -> None:
    """Somebody honest logs in anew, writes, and reads what was written."""
    way = Way(listener, None if listener == "MTLS" else "SCRAM-SHA-512")
    producer = Producer({**settings(server, way), "delivery.timeout.ms": 30_000})
    told: list[tuple[object, int | None]] = []
    producer.produce(topic, value, on_delivery=lambda error, to: told.append((error, to.offset())))
    assert producer.flush(30) == 0
    ((error, offset),) = told
    assert error is None
    assert offset is not None
    consumer = Consumer(settings(server, way, group_id="honest"))
    consumer.assign([TopicPartition(topic, 0, offset)])
    message = wait_for("its record", lambda: consumer.poll(1.0))
    consumer.close()
    assert message.value() == value.encode()


def test_thousands_who_dribble_keep_nobody_out_and_stay_for_half_a_minute(tmp_path: Path) -> None:
    with secured_server(KAFKAPY, tmp_path) as server:
        comes_in(server, "SASL_SSL", "t", "before")
        with crowd_at(server) as crowd:
            bound = dict.fromkeys(_LISTENERS, MOST_UNSETTLED)
            wait_for("the bound of each listener", lambda: crowd.alive <= Counter(bound))
            rounds = 0

            def are_gone() -> bool:
                nonlocal rounds
                rounds += 1
                for listener in _LISTENERS:
                    comes_in(server, listener, "t", f"{rounds} at {listener}")
                return not +crowd.alive

            wait_for("the end of all of them", are_gone, timeout_s=90)
        log = (tmp_path / "server" / "server.log").read_text()
        assert "bug" not in log
