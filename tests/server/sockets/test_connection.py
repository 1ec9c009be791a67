"""A connection over a socketpair: frames in any cut, answers in order, nothing kept."""

import errno
import itertools
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.broker.requests.request import (
    Answer,
    Call,
    Encoded,
    Hangup,
    Later,
    Part,
    Peer,
    Resolved,
)
from kafkapy.core.limits import MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION
from kafkapy.core.seams import Callback
from kafkapy.core.time import Instant
from kafkapy.core.turn import Turn
from kafkapy.server.sockets.buffers import SCRATCH_BYTES, Buffers
from kafkapy.server.sockets.connection import MAX_UNSENT_BYTES, Connection
from kafkapy.server.sockets.reactor import READ, WRITE, Ready


class FakeReactor:
    def __init__(self) -> None:
        self.interest: dict[int, int] = {}
        self.turn = Turn()
        self.buffers = Buffers()
        self.soon: list[Callback] = []

    def register(self, fd: int, owner: Ready, interest: int) -> None:
        self.interest[fd] = interest

    def modify(self, fd: int, interest: int) -> None:
        self.interest[fd] = interest

    def unregister(self, fd: int) -> None:
        del self.interest[fd]

    def run_soon(self, then: Callback) -> None:
        self.soon.append(then)

    async def run(self) -> None:
        raise AssertionError("driven by the test")

    def close(self) -> None:
        pass


class Echo:
    """Answers each request with its own bytes; requests of b"L..." are answered later."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.later: list[Later] = []
        self.answer: bytes | None = None  # to everything

    def dispatch(self, request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
        assert request.readonly
        body = bytes(request)
        self.requests.append(body)
        call = Call(0, 0, 0, None, body, peer, Instant(0))
        if body.startswith(b"bad"):
            raise Hangup("told to")
        if body.startswith(b"L"):
            self.later.append(Later())
            return call, self.later[-1]
        answer = framed(body) if self.answer is None else self.answer
        return call, (None if body.startswith(b"none") else Encoded((answer,)))

    def encode(self, call: Call[Any], answer: Resolved) -> tuple[Part, ...]:
        if isinstance(answer, Encoded):
            return tuple(answer.parts)
        assert answer is None
        return ()


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


class Wire:
    def __init__(self, max_frame_bytes: int = 100 << 20) -> None:
        ours, self.client = socket.socketpair()
        ours.setblocking(False)
        self.client.setblocking(False)
        self.reactor = FakeReactor()
        self.echo = Echo()
        self.closed: list[str | None] = []
        self.fd = ours.fileno()
        self.connection = Connection(
            ours,
            Peer("PLAINTEXT", "test"),
            self.reactor,
            self.echo.dispatch,
            self.echo.encode,
            lambda _, reason: self.closed.append(reason),
            max_frame_bytes,
        )

    def send(self, data: bytes) -> None:
        """All of it, letting the connection read whenever its buffer is full."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.client.send(view) :]
            except BlockingIOError:
                self.round()
        self.settle()

    def round(self) -> None:
        self.reactor.turn.begin()
        self.connection.on_readable()
        self.reactor.turn.end()

    def go_on(self) -> bool:
        """What was put off, as the reactor's next turn does it; False: nothing was."""
        soon, self.reactor.soon = self.reactor.soon, []
        self.reactor.turn.begin()
        for then in soon:
            then()
        self.reactor.turn.end()
        return bool(soon)

    def settle(self) -> None:
        for _ in range(400):
            if self.connection.is_open:
                self.round()

    def received(self) -> bytes:
        got = b""
        while True:
            try:
                more = self.client.recv(1 << 20)
            except BlockingIOError:
                if not self.connection.is_open or not self.reactor.interest[self.fd] & WRITE:
                    return got
                self.connection.on_writable()
                continue
            if not more:
                return got
            got += more

    def close(self) -> None:
        self.client.close()
        self.connection.close(None)


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


def test_what_fails_while_a_frame_is_served_is_no_fault_of_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cannot(*_: object) -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(Echo, "dispatch", cannot)
    wire = Wire()
    wire.client.send(framed(b"x" * 16))
    with pytest.raises(OSError, match="File too large"):
        wire.round()
    assert not wire.closed
    wire.close()


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(8, 3000), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 36_000), max_size=12),
)
def test_frames_are_served_however_they_are_cut(sizes: list[int], cuts: list[int]) -> None:
    wire = Wire()
    bodies = [bytes([65 + at % 11]) * size for at, size in enumerate(sizes)]
    stream = b"".join(map(framed, bodies))
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    for start, end in itertools.pairwise(edges):
        wire.send(stream[start:end])
    assert wire.echo.requests == bodies
    assert wire.received() == stream
    wire.close()


@pytest.mark.parametrize("size", [SCRATCH_BYTES, 1_100_000, 5_000_000])
def test_large_frames_come_through_whole_and_in_order(wire: Wire, size: int) -> None:
    bodies = [bytes([66 + at]) * (size + at) for at in range(3)] + [b"small one"]
    wire.send(b"".join(map(framed, bodies)))
    assert [len(body) for body in wire.echo.requests] == [len(body) for body in bodies]
    assert wire.received() == b"".join(map(framed, bodies))


def test_answers_leave_at_the_end_of_the_round(wire: Wire) -> None:
    wire.client.send(framed(b"question"))
    wire.reactor.turn.begin()
    wire.connection.on_readable()
    assert wire.received() == b""
    wire.reactor.turn.end()
    assert wire.received() == framed(b"question")


def test_answers_leave_in_the_order_of_the_requests(wire: Wire) -> None:
    wire.send(framed(b"L-first.") + framed(b"second..") + framed(b"L-third.") + framed(b"fourth.."))
    assert wire.received() == b""
    wire.echo.later[1].resolve(Encoded((framed(b"third"),)))
    assert wire.received() == b""
    wire.echo.later[0].resolve(Encoded((framed(b"first"),)))
    expected = [b"first", b"second..", b"third", b"fourth.."]
    assert wire.received() == b"".join(map(framed, expected))


def test_an_answer_that_is_there_within_a_round_leaves_at_its_end(wire: Wire) -> None:
    wire.send(framed(b"L-first."))
    wire.reactor.turn.begin()
    wire.echo.later[0].resolve(Encoded((framed(b"first"),)))
    assert wire.received() == b""
    wire.reactor.turn.end()
    assert wire.received() == framed(b"first")


def test_a_request_without_an_answer_holds_nobody_up(wire: Wire) -> None:
    wire.send(framed(b"L-first.") + framed(b"none....") + framed(b"third..."))
    wire.echo.later[0].resolve(None)
    assert wire.received() == framed(b"third...")


@pytest.mark.parametrize("size", [-1, 0, 7, 101, 2**31 - 1])
def test_a_frame_of_an_impossible_size_closes_the_connection(size: int) -> None:
    wire = Wire(max_frame_bytes=100)
    wire.send(struct.pack(">i", size))
    assert not wire.connection.is_open
    assert "frame" in (wire.closed[0] or "")
    wire.close()


def test_a_claimed_size_takes_no_memory_before_the_bytes_come(wire: Wire) -> None:
    wire.send(struct.pack(">i", 90 << 20) + b"x" * 10)
    buffer = wire.connection._buffer
    assert buffer is not None
    assert len(buffer) <= 2 << 20


def test_a_handler_may_hang_up_and_the_reason_is_told(wire: Wire) -> None:
    wire.send(framed(b"bad request") + framed(b"never served"))
    assert wire.closed == ["told to"]
    assert len(wire.echo.requests) == 1


def test_reading_stops_while_too_many_requests_wait(wire: Wire) -> None:
    for _ in range(MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION):
        wire.send(framed(b"L-waiting"))
    assert not wire.reactor.interest[wire.fd] & READ
    for waiting in wire.echo.later:
        waiting.resolve(None)
    assert wire.reactor.interest[wire.fd] & READ


def test_a_client_that_does_not_read_is_not_read_from(wire: Wire) -> None:
    big = b"B" * (3 << 20)
    for _ in range(4):
        if wire.reactor.interest[wire.fd] & READ:
            wire.send(framed(big))
    assert not wire.reactor.interest[wire.fd] & READ
    assert wire.reactor.interest[wire.fd] & WRITE
    got = len(wire.received())
    assert got == len(wire.echo.requests) * (len(big) + 4)
    assert wire.reactor.interest[wire.fd] == READ


def test_an_answer_that_comes_after_the_client_left_is_dropped(wire: Wire) -> None:
    wire.send(framed(b"L-waiting"))
    wire.client.close()
    wire.round()
    assert not wire.connection.is_open
    wire.echo.later[0].resolve(Encoded((framed(b"too late"),)))
    assert wire.closed == [None]


def test_what_was_read_is_not_served_while_nobody_reads_the_answers(wire: Wire) -> None:
    """Thousands of requests fit into one read: a client that asked for all topics in each of
    them would have had as many answers made, in one go."""
    answer = framed(b"B" * MAX_UNSENT_BYTES)
    wire.echo.answer = answer
    wire.client.send(b"".join(framed(b"question") for _ in range(100)) + framed(b"the last")[:6])
    wire.round()
    assert len(wire.echo.requests) == 1
    assert not wire.reactor.interest[wire.fd] & READ
    for served in range(1, 101):
        assert wire.received() == answer
        assert len(wire.echo.requests) == served
        assert wire.go_on()
    assert wire.reactor.interest[wire.fd] == READ
    wire.echo.answer = None
    wire.send(framed(b"the last")[6:])
    assert wire.received() == framed(b"the last")


def test_nor_while_too_many_of_them_wait(wire: Wire) -> None:
    count = MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION
    bodies = [b"L-%06d" % number for number in range(3 * count)]
    wire.client.send(b"".join(map(framed, bodies)))
    wire.round()
    for seen in (count, 2 * count, 3 * count):
        assert wire.echo.requests == bodies[:seen]
        for number in range(seen - count, seen):
            wire.echo.later[number].resolve(Encoded((framed(bodies[number]),)))
        wire.go_on()
    assert wire.received() == b"".join(map(framed, bodies))
    assert wire.reactor.interest[wire.fd] == READ


def test_a_client_that_is_gone_is_noticed_while_something_is_held(wire: Wire) -> None:
    count = MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION
    wire.client.send(framed(b"question") + framed(b"L-waiting") * (count + 1))
    wire.round()
    wire.round()
    assert wire.connection.is_open, "nobody said that it is gone"
    wire.client.close()  # with an answer that it did not read: the system says that it was reset
    wire.round()
    assert not wire.connection.is_open
    assert wire.go_on() is False


def test_what_is_held_of_a_client_that_is_throttled_waits_with_it(wire: Wire) -> None:
    count = MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION
    wire.client.send(framed(b"L-waiting") * count + framed(b"the last"))
    wire.round()
    wire.connection.mute(True)
    for waiting in wire.echo.later:
        waiting.resolve(None)
    assert not wire.go_on()
    wire.connection.mute(False)
    assert wire.go_on()
    assert wire.received() == framed(b"the last")


class Slice:
    """A range of a file, as far as a connection that closes cares."""

    length = 5
    is_released = False

    def read(self) -> bytes:
        return b"12345"

    def release(self) -> None:
        self.is_released = True


def test_answers_that_nobody_gets_let_their_files_go(wire: Wire) -> None:
    behind, late = Slice(), Slice()
    wire.send(framed(b"L-first.") + framed(b"L-second"))
    wire.echo.later[1].resolve(Encoded((b"head", behind)))
    wire.connection.close(None)
    assert behind.is_released
    wire.echo.later[0].resolve(Encoded((b"head", late)))
    assert late.is_released
