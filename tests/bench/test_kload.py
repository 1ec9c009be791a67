"""kload against a server of the test's own: its times are those that records were due."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from bench.load import kload
from bench.wire import produce_error_at

pytestmark = pytest.mark.skipif(kload.why_not() is not None, reason=str(kload.why_not()))

_TOPIC = "topic"


class Server:
    """Takes produce requests on one connection and answers them in lots: nothing is answered
    until so many have come."""

    def __init__(self, lot: int, error: int = 0) -> None:
        self._lot, self._error = lot, error
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.bootstrap = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests = 0

    def serve(self) -> None:
        sock, _ = self._listener.accept()
        at = produce_error_at(_TOPIC)
        answer = struct.pack(">i", at + 20 - 4).ljust(at, b"\0")
        answer += struct.pack(">h", self._error) + bytes(18)
        waiting, data = 0, b""
        # kload ends without reading what is still on its way.
        with sock, suppress(ConnectionError):
            while got := sock.recv(65536):
                data += got
                while len(data) >= 4 and len(data) >= (size := _size(data)):
                    data = data[size:]
                    self.requests += 1
                    waiting += 1
                while waiting >= self._lot:
                    sock.sendall(answer * self._lot)
                    waiting -= self._lot

    def close(self) -> None:
        self._listener.close()


def _size(data: bytes) -> int:
    size: int = struct.unpack_from(">i", data)[0]
    return size + 4


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        thread.join(30)
        server.close()


def frames(records: int = 1) -> kload.Frames:
    return kload.Frames.of_produce([(_TOPIC, 0)], records=records, record_bytes=10, acks=1)


def test_a_stall_counts_for_every_record_that_it_held_up() -> None:
    """A hundred records at 1,000 a second are answered together: the first has waited 99 ms,
    the next 98. A load that waited for its answers would have seen one slow record."""
    with serving(Server(lot=100)) as server:
        found = kload.open_loop(
            server.bootstrap, frames(), connections=1, rate=1000, seconds=0.2, warm_seconds=0
        )
    assert found["records"] == found["ack"]["count"] == server.requests == 200
    assert found["ack"]["p50"] >= 49
    assert found["ack"]["p95"] >= 94
    assert found["ack"]["max"] >= 98


def test_the_time_in_which_a_batch_fills_is_part_of_the_latency_of_its_records() -> None:
    with serving(Server(lot=1)) as server:
        found = kload.open_loop(
            server.bootstrap, frames(100), connections=1, rate=1000, seconds=0.3, warm_seconds=0
        )
    assert found["records"] == 300
    assert server.requests == 3
    assert found["ack"]["p50"] >= 49


def test_closed_load_counts_what_was_answered() -> None:
    with serving(Server(lot=1)) as server:
        found = kload.closed(
            server.bootstrap, frames(), connections=1, seconds=0.1, warm_seconds=0.05
        )
    assert 0 < found["records"] <= found["total"] <= server.requests
    assert found["ack"]["count"] == found["records"]


def test_an_error_in_an_answer_ends_it_with_the_code() -> None:
    with serving(Server(lot=1, error=3)) as server, pytest.raises(RuntimeError, match="code 3"):
        kload.closed(server.bootstrap, frames(), connections=1, seconds=5)
