"""What every request passes: its host, where its page is from, how long it is."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from kafkapy.http.entrance.entry import Entry
from kafkapy.http.entrance.login import Logins
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of, link_of

PROBLEM = "application/problem+json"


def test_a_node_that_serves_is_alive_and_ready(over_http: httpx.Client) -> None:
    assert over_http.get("/health/live").status_code == 200
    assert over_http.get("/health/ready").status_code == 200


def test_what_is_not_there_is_a_problem_in_json(over_http: httpx.Client) -> None:
    answer = over_http.get("/no/such/page")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == PROBLEM
    assert answer.json()["status"] == 404


def test_no_page_is_sniffed_framed_or_kept(over_http: httpx.Client) -> None:
    headers = over_http.get("/health/live").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example"])
def test_somebody_elses_name_for_this_node_is_refused(over_http: httpx.Client, host: str) -> None:
    """Whose name servers say 127.0.0.1: his page would be of this node's origin."""
    assert over_http.get("/health/live", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "[::1]:8080", "10.1.2.3"])
def test_names_of_this_machine_and_addresses_are_its_own(
    over_http: httpx.Client, host: str
) -> None:
    assert over_http.get("/health/live", headers={"host": host}).status_code == 200


def test_a_page_of_another_origin_may_not_change_anything(over_http: httpx.Client) -> None:
    headers = {"origin": "https://elsewhere.example"}
    assert over_http.post("/health/live", headers=headers).status_code == 403
    own = {"origin": str(over_http.base_url).rstrip("/")}
    assert over_http.post("/health/live", headers=own).status_code == 405


def test_browsers_are_told_nothing_of_other_origins(over_http: httpx.Client) -> None:
    headers = {"origin": "https://elsewhere.example"}
    answer = over_http.get("/health/live", headers=headers)
    assert "access-control-allow-origin" not in answer.headers


@pytest.fixture(scope="module")
def strict() -> Iterator[Broker]:
    """Small in everything, and with somebody else's pages."""
    settings = {
        "http.max.header.bytes": "1024",
        "http.max.request.bytes": "1000",
        "http.cors.allowed.origins": "https://ours.example",
        "http.allowed.hosts": "kafka.example",
    }
    with Broker({**HTTP, **settings}) as broker:
        yield broker


def test_an_origin_that_is_named_may_ask(strict: Broker) -> None:
    headers = {
        "origin": "https://ours.example",
        "access-control-request-method": "POST",
        "host": "kafka.example",
    }
    with client_of(strict) as client:
        answer = client.options("/health/live", headers=headers)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "https://ours.example"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert "if-match" in answer.headers["access-control-allow-headers"]


def test_a_page_of_an_origin_that_is_named_reads_writes_and_sees_tags(strict: Broker) -> None:
    strict.create_topic("theirs")
    headers = {"origin": "https://ours.example"}
    with client_of(strict, headers=headers) as client:
        written = client.post("/api/v1/topics/theirs/messages", json={"value": 1})
        read = client.get("/api/v1/topics/theirs")
    assert (written.status_code, read.status_code) == (200, 200)
    assert read.headers["access-control-allow-origin"] == "https://ours.example"
    assert "etag" in read.headers["access-control-expose-headers"]
    assert "origin" in read.headers["vary"]


def test_a_page_of_an_origin_that_is_not_named_neither_writes_nor_listens(strict: Broker) -> None:
    strict.create_topic("not-theirs")
    with client_of(strict, headers={"origin": "https://theirs.example"}) as client:
        path = "/api/v1/topics/not-theirs"
        assert client.post(f"{path}/messages", json={"value": 1}).status_code == 403
        asked = {"access-control-request-method": "POST"}
        assert client.options(f"{path}/messages", headers=asked).status_code == 403
        upgrade = {
            "connection": "upgrade",
            "upgrade": "websocket",
            "sec-websocket-version": "13",
            "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
        }
        assert "access-control-allow-origin" not in client.get(path).headers
    with client_of(strict, headers={"origin": "https://theirs.example"}) as socket:
        assert socket.get(f"{path}/partitions/0/stream", headers=upgrade).status_code == 403
    assert not strict.records("not-theirs")


def test_methods_that_somebody_thinks_up_are_counted_as_one(broker: Broker) -> None:
    """Who has not logged in may send any: each would be a line of /metrics for ever."""
    http = broker._running().http
    assert http is not None
    assert http.site is not None
    before = set(http.site.answered)
    with client_of(broker) as client:
        for method in ("BREW", "WHEN", "BREWAGAIN"):
            assert client.request(method, "/health/live").status_code == 405
        assert client.get("/health/live").status_code == 200
    fresh = set(http.site.answered) - before
    assert ("other", 405) in fresh
    assert {method for method, _ in http.site.answered} <= {"GET", "POST", "OPTIONS", "other"}


def test_a_head_that_is_too_long_is_refused(strict: Broker) -> None:
    with client_of(strict) as client:
        answer = client.get("/health/live", headers={"x-long": "x" * 4096})
    assert answer.status_code == 431


def test_a_body_that_is_too_long_is_refused_before_it_is_read(strict: Broker) -> None:
    with client_of(strict) as client:
        assert client.post("/health/live", content=b"x" * 1000).status_code == 405
        assert client.post("/health/live", content=b"x" * 1001).status_code == 413


def test_a_body_in_pieces_is_read_as_far_as_it_may_be() -> None:
    """Its length is told by nobody: the page that reads it meets the bound."""

    async def reads_all(request: Request) -> Response:
        return Response(str(len(await request.body())))

    page = Starlette(routes=[Route("/", reads_all, methods=["POST"])])
    with Broker({**HTTP, "http.max.request.bytes": "1000"}) as broker:
        link = link_of(broker)
        entry = Entry(page, link.node.config, Logins(link), link.node.journal)
        with TestClient(entry, "http://127.0.0.1", backend="trio") as client:
            assert client.post("/", content=iter([b"x" * 500] * 2)).status_code == 200
            assert client.post("/", content=iter([b"x" * 500] * 3)).status_code == 413
