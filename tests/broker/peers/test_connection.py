from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafkapy.broker.peers.connection import PeerConnection, PeerSettings, State
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.core.addresses import Address
from kafkapy.core.network import Down
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import RequestHeader, frame, read_request_header, response_head
from kafkapy.protocol.messages import decode_request, encode_response
from kafkapy.sim.cluster.network import End, SimNetwork
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.rng import SimRng

PORT = 9092
ADDRESS = Address("server", PORT)
VERSIONS = {ApiKey.API_VERSIONS: (0, 4), ApiKey.METADATA: (0, 9), ApiKey.VOTE: (0, 2)}
Asked = tuple[RequestHeader, Any]


class Server:
    """Answers ApiVersions; what else is asked waits for the test."""

    def __init__(self, versions: Mapping[ApiKey, tuple[int, int]] = VERSIONS) -> None:
        self.versions = versions
        self.asked: list[tuple[End, RequestHeader, Any]] = []
        self.connections = 0
        self.is_mute = False

    def accept(self, end: End, _: str) -> "Served":
        self.connections += 1
        return Served(self, end)

    def answer(self, body: Mapping[str, Any], *, correlation_id: int | None = None) -> None:
        end, header, _ = self.asked.pop(0)
        told = header.correlation_id if correlation_id is None else correlation_id
        send(end, header, body, told)


class Served:
    def __init__(self, server: Server, end: End) -> None:
        self.server = server
        self.end = end

    def on_up(self) -> None:
        raise AssertionError("servers are up from the start")

    def on_frame(self, view: memoryview) -> None:
        header, at = read_request_header(view)
        if header.api_key == ApiKey.API_VERSIONS:
            self._tell_versions(header)
            return
        body = decode_request(header.api_key, header.api_version, view[at:])
        self.server.asked.append((self.end, header, body))

    def _tell_versions(self, header: RequestHeader) -> None:
        if self.server.is_mute:
            return
        rows = [
            {"api_key": api, "min_version": low, "max_version": high}
            for api, (low, high) in self.server.versions.items()
        ]
        if header.api_version > self.server.versions[ApiKey.API_VERSIONS][1]:
            header = header._replace(api_version=0)
            send(self.end, header, {"error_code": 35, "api_keys": rows}, header.correlation_id)
        else:
            send(self.end, header, {"error_code": 0, "api_keys": rows}, header.correlation_id)

    def on_down(self, why: Down, reason: str) -> None:
        pass


def send(end: End, header: RequestHeader, body: Mapping[str, Any], correlation_id: int) -> None:
    head = response_head(header.api_key, header.api_version, correlation_id)
    end.send((frame(head, encode_response(header.api_key, header.api_version, body)),))


class Bench:
    def __init__(self) -> None:
        self.clock = SimClock()
        self.net = SimNetwork(self.clock, SimRng(1), Trace(self.clock))
        self.server = Server()
        self.host = self.net.host("server")
        self.host.listen(PORT, self.server.accept)
        self.peer = PeerConnection(
            self.net.host("client"),
            self.clock,
            SimRng(2),
            ADDRESS,
            listener="PLAINTEXT",
            settings=PeerSettings(client_id="test"),
        )
        self.answers: list[Any] = []

    def ask(self, *, versions: tuple[int, int] = (1, 12), timeout_ms: int = 1000) -> None:
        self.peer.call(
            ApiKey.METADATA,
            {"topics": ()},
            self.answers.append,
            versions=versions,
            timeout_ms=timeout_ms,
        )

    def run_until(self, condition: Callable[[], bool]) -> None:
        assert self.clock.run_until(condition, 60_000), self.peer.state

    def failure(self) -> CallFailed:
        failure = self.answers.pop(0)
        assert isinstance(failure, CallFailed), failure
        return failure


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_call_connects_negotiates_and_is_answered(bench: Bench) -> None:
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    _, header, _ = bench.server.asked[0]
    assert (header.api_version, header.client_id) == (9, "test")
    bench.server.answer({"cluster_id": "abc", "controller_id": 3})
    bench.run_until(lambda: len(bench.answers) == 1)
    assert bench.answers[0].cluster_id == "abc"
    assert bench.peer.is_idle


def test_calls_share_a_connection_and_are_answered_in_order(bench: Bench) -> None:
    for _ in range(3):
        bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 3)
    for controller_id in range(3):
        bench.server.answer({"controller_id": controller_id})
    bench.run_until(lambda: len(bench.answers) == 3)
    assert [answer.controller_id for answer in bench.answers] == [0, 1, 2]
    assert bench.server.connections == 1


def test_an_older_peer_is_asked_for_its_versions_again(bench: Bench) -> None:
    bench.server.versions = {ApiKey.API_VERSIONS: (0, 2), ApiKey.METADATA: (0, 5)}
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    assert bench.server.asked[0][1].api_version == 5


def test_what_the_peer_does_not_speak_is_not_sent(bench: Bench) -> None:
    bench.ask(versions=(10, 12))
    bench.run_until(lambda: len(bench.answers) == 1)
    failure = bench.failure()
    assert failure.why is Why.UNSUPPORTED
    assert "METADATA 0-9, we 10-12" in str(failure)
    assert bench.peer.state is State.READY


def test_who_is_refused_tries_again_after_a_backoff_that_grows(bench: Bench) -> None:
    bench.host.stop_listening(PORT)
    waits = []
    for _ in range(8):
        before = bench.clock.now()
        bench.ask(timeout_ms=30_000)
        bench.run_until(lambda: len(bench.answers) == 1)
        assert bench.failure().why is Why.REFUSED
        waits.append(bench.clock.now() - before)
    assert waits[0] < 10
    assert 30 < waits[1] < 80
    assert 700 < waits[-1] < 1300
    bench.host.listen(PORT, bench.server.accept)
    bench.ask(timeout_ms=30_000)
    bench.run_until(lambda: len(bench.server.asked) == 1)


def test_a_connection_that_breaks_fails_what_is_under_way_and_comes_back(bench: Bench) -> None:
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    bench.ask()
    bench.net.break_connections("client", "server")
    bench.run_until(lambda: len(bench.answers) == 2)
    assert [bench.failure().why for _ in range(2)] == [Why.BROKEN, Why.BROKEN]
    bench.server.asked.clear()
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    assert bench.server.connections == 2


def test_an_answer_that_does_not_come_in_time_takes_the_connection_with_it(bench: Bench) -> None:
    bench.ask(timeout_ms=300)
    bench.run_until(lambda: len(bench.server.asked) == 1)
    bench.run_until(lambda: len(bench.answers) == 1)
    assert bench.failure().why is Why.TIMED_OUT
    bench.server.answer({"controller_id": 1})  # nobody is there to mistake it for another
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    assert bench.answers == []


def test_a_call_that_waits_for_a_connection_gives_up_in_its_own_time(bench: Bench) -> None:
    bench.net.cut_both("client", "server")
    bench.ask(timeout_ms=250)
    before = bench.clock.now()
    bench.run_until(lambda: len(bench.answers) == 1)
    assert bench.failure().why is Why.TIMED_OUT
    assert bench.clock.now() - before == 250


def test_a_peer_that_accepts_and_never_speaks_is_unreachable(bench: Bench) -> None:
    bench.server.is_mute = True
    bench.ask(timeout_ms=60_000)
    bench.run_until(lambda: len(bench.answers) == 1)
    assert bench.failure().why is Why.UNREACHABLE


def test_nonsense_breaks_the_connection(bench: Bench) -> None:
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    bench.server.answer({"controller_id": 1}, correlation_id=77)
    bench.run_until(lambda: len(bench.answers) == 1)
    assert bench.failure().why is Why.NONSENSE


def test_close_answers_whoever_waits(bench: Bench) -> None:
    bench.ask()
    bench.run_until(lambda: len(bench.server.asked) == 1)
    bench.peer.close()
    assert bench.failure().why is Why.CLOSED
    bench.ask()
    bench.run_until(lambda: len(bench.answers) == 1)
    assert bench.failure().why is Why.CLOSED


def test_bodies_may_be_bytes_and_answers_views(bench: Bench) -> None:
    """As the fetcher uses it: records are not copied."""
    seen: list[tuple[int, bytes]] = []

    def read(version: int, view: memoryview) -> str:
        seen.append((version, bytes(view)))
        return "read"

    bench.peer.call(
        ApiKey.METADATA,
        lambda version: b"\x01\x00\x00\x00\x00" if version == 9 else b"",
        bench.answers.append,
        versions=(9, 9),
        timeout_ms=1000,
        decode=read,
    )
    bench.run_until(lambda: len(bench.server.asked) == 1)
    bench.server.answer({"cluster_id": "abc"})
    bench.run_until(lambda: bench.answers == ["read"])
    assert seen[0][0] == 9
    assert b"abc" in seen[0][1]
