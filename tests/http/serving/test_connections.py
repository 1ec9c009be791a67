"""Who is connected, and who has to go: whoever asks whether the node lives is always answered."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
import trio
import trio.testing

from kafkapy.http.problems import Problem
from kafkapy.http.serving.connections import SPARE, Connection, Connections
from kafkapy.http.serving.streams import CONNECTION, Streams
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of

STREAM = "/api/v1/topics/t/partitions/0/stream"
RECORD = '{"value": {"type": "JSON", "data": 1}}'
SENT = f"transfer-encoding: chunked\r\n\r\n{len(RECORD):x}\r\n{RECORD}"
ENTERED = [
    pytest.param(f"GET {STREAM}", id="server-sent events"),
    pytest.param("GET /console/topics/t/tail", id="a tail of the console's"),
    pytest.param(f"POST /v3/clusters/CLUSTER/topics/t/records\n{SENT}", id="records"),
]


def in_trio(test: Callable[[trio.testing.MockClock], None]) -> None:
    async def work() -> None:
        test(clock)

    clock = trio.testing.MockClock()
    trio.run(work, clock=clock)


def entered(connections: Connections, clock: trio.testing.MockClock) -> Connection:
    clock.jump(1)
    return connections.enter(lambda: None)


def test_who_has_never_asked_goes_first_and_then_who_has_been_idle_for_longest() -> None:
    def test(clock: trio.testing.MockClock) -> None:
        connections = Connections(2)
        first, *others = (entered(connections, clock) for _ in range(2 + SPARE))
        with connections.answering(first, is_health=False):
            pass
        entered(connections, clock)
        assert [one.scope.cancel_called for one in (first, *others[:2])] == [False, True, False]
        for one in others[1:]:
            clock.jump(1)
            with connections.answering(one, is_health=False):
                pass
        newest = entered(connections, clock)  # instead of the one that never asked
        with connections.answering(newest, is_health=False):
            entered(connections, clock)
            assert first.scope.cancel_called
        assert not newest.scope.cancel_called
        assert len(connections) == 2 + SPARE

    in_trio(test)


def test_when_all_are_busy_health_is_told_and_nothing_else() -> None:
    def test(clock: trio.testing.MockClock) -> None:
        connections = Connections(2)
        several = [entered(connections, clock) for _ in range(2 + SPARE)]
        with ExitStack() as busy:
            for one in several[:2]:
                assert busy.enter_context(connections.answering(one, is_health=False))
            with connections.answering(several[2], is_health=False) as may:
                assert not may
            with connections.answering(several[0], is_health=False) as may:
                assert may, "it is busy already: one of several streams of HTTP/2"
            for one in several[2:]:
                clock.jump(1)
                assert busy.enter_context(connections.answering(one, is_health=True))
            entered(connections, clock)
            gone = [one for one in several if one.scope.cancel_called]
            assert gone == [several[2]], "whoever has been taking that answer for longest"
        with connections.answering(several[3], is_health=False) as may:
            assert may

    in_trio(test)


def test_streams_leave_connections_to_others() -> None:
    streams = Streams(most=100, connections=16)
    ends = [streams.enter({CONNECTION: one}) for one in range(14)]
    ends += [streams.enter({CONNECTION: 3})]  # several may share one
    with pytest.raises(Problem, match=r"http\.max\.connections"):
        streams.enter({CONNECTION: 14})
    ends.pop()()
    ends.pop()()
    streams.enter({CONNECTION: 14})
    with pytest.raises(Problem):
        streams.enter({CONNECTION: 15})


@pytest.fixture(scope="module")
def narrow() -> Iterator[Broker]:
    """Two may be busy, one of them with a stream."""
    with Broker({**HTTP, "http.max.connections": "2"}) as broker:
        broker.create_topic("t")
        yield broker


@pytest.fixture
def other(narrow: Broker) -> Iterator[httpx.Client]:
    with client_of(narrow) as client:
        yield client


def test_any_number_of_idle_connections_keeps_nobody_out(
    narrow: Broker, other: httpx.Client
) -> None:
    """Nobody of them logs in, or asks anything. The oldest are closed."""
    where = urlsplit(narrow.http)
    with ExitStack() as opened:
        idle = [
            opened.enter_context(socket.create_connection((where.hostname, where.port), 30))
            for _ in range(3 * SPARE)
        ]
        assert other.get("/health/live").status_code == 200
        assert other.get("/api/v1/topics").status_code == 200
        assert idle[0].recv(1) == b"", "it had to go"


def test_a_node_that_is_busy_is_alive(narrow: Broker, other: httpx.Client) -> None:
    with client_of(narrow) as first, first.stream("GET", STREAM) as one:
        begun = one.iter_raw()  # let go, it would hang up
        next(begun)
        with busy(narrow):
            refused = other.get("/api/v1/topics")
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json()["detail"].startswith("http.max.connections")
            for path in ("/health/live", "/health/ready"):
                assert other.get(path).status_code == 200
        del begun


def busy(broker: Broker) -> socket.socket:
    """Somebody who sends his records some other time; heard of once he is told to go on."""
    told = "content-length: 9\r\nexpect: 100-continue\r\n"
    found = opened(broker, f"POST /api/v1/topics/t/messages\n{told}")
    assert found.recv(100).startswith(b"HTTP/1.1 100")
    return found


@pytest.mark.parametrize("asked", ENTERED)
def test_whatever_lasts_is_a_stream_and_leaves_room(
    narrow: Broker, other: httpx.Client, asked: str
) -> None:
    """While one is open, another is refused, on another connection, and other pages are not."""
    cluster = other.get("/v3/clusters").json()["data"][0]["cluster_id"]
    with opened(narrow, asked.replace("CLUSTER", cluster)) as one:
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        with other.stream("GET", STREAM) as refused:
            assert refused.status_code == 503
            assert "http.max.connections" in refused.read().decode()
        assert other.get("/api/v1/topics").status_code == 200
    wait_for_room(other)


def opened(broker: Broker, asked: str) -> socket.socket:
    where = urlsplit(broker.http)
    found = socket.create_connection((where.hostname, where.port), 30)
    line, _, rest = asked.partition("\n")
    found.sendall(f"{line} HTTP/1.1\r\nhost: localhost\r\n{rest}\r\n".encode())
    return found


def wait_for_room(http: httpx.Client) -> None:
    """Whoever was first has hung up; the node hears of it."""
    while True:
        with http.stream("GET", STREAM) as answer:
            if answer.status_code == 200:
                return
