"""Messages pushed over a WebSocket, and acknowledged on it."""

import base64
import json
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect

from kafkapy.http.rest.push.feeds import Feed, Some
from kafkapy.testing import Broker

TOPICS, GROUPS = "/api/v1/topics", "/api/v1/consumer-groups"


def fill(broker: Broker, topic: str, count: int, partitions: int = 1) -> None:
    broker.create_topic(topic, partitions=partitions)
    for n in range(count):
        broker.produce(topic, str(n).encode(), partition=n % partitions)


def connect(pages: TestClient, path: str) -> WebSocketTestSession:
    # It would ask for another host than its own.
    return pages.websocket_connect(f"ws://127.0.0.1{path}")


def hear(socket: WebSocketTestSession, kind: str = "message") -> dict[str, Any]:
    """The next of that kind."""
    while True:
        told: dict[str, Any] = json.loads(socket.receive_text())
        if told["type"] == kind:
            return told
        assert told["type"] != "error", told


def hear_the_last(socket: WebSocketTestSession) -> dict[str, Any]:
    while True:
        told: dict[str, Any] = json.loads(socket.receive_text())
        if told["type"] == "error":
            return told


def ack(socket: WebSocketTestSession, told: dict[str, Any]) -> None:
    where = {key: told[key] for key in ("topic", "partition", "offset")}
    socket.send_text(json.dumps({"type": "ack", **where}))


def test_a_partition_is_told_from_an_offset_on_and_as_it_grows(
    broker: Broker, pages: TestClient
) -> None:
    fill(broker, "told", 3)
    path = f"{TOPICS}/told/partitions/0/stream?offset=1"
    with connect(pages, path) as socket:
        assert [hear(socket)["value"] for _ in range(2)] == [1, 2]
        broker.produce("told", b"3")
        assert hear(socket)["offset"] == 3


def test_no_more_than_a_window_is_told_before_it_is_acknowledged(
    broker: Broker, pages: TestClient
) -> None:
    fill(broker, "window", 5)
    path = f"{TOPICS}/window/partitions/0/stream?offset=0&window=2"
    with connect(pages, path) as socket:
        told = [hear(socket) for _ in range(2)]
        # Had it told more, that would come before the refusal.
        socket.send_text("{}")
        assert json.loads(socket.receive_text())["type"] == "error"
    with connect(pages, path) as socket:
        for _ in range(2):
            hear(socket)
        ack(socket, told[1])
        assert [hear(socket)["offset"] for _ in range(2)] == [2, 3]


def test_what_was_acknowledged_is_committed_and_what_was_not_is_told_again(
    broker: Broker, pages: TestClient
) -> None:
    fill(broker, "again", 5)
    path = f"{GROUPS}/again/stream?topics=again&offset=earliest"
    with connect(pages, path) as socket:
        owned = hear(socket, "member")["partitions"]
        assert owned == [{"topic": "again", "partition": 0}]
        told = [hear(socket) for _ in range(5)]
        assert [one["offset"] for one in told] == [0, 1, 2, 3, 4]
        ack(socket, told[2])
        assert hear(socket, "committed")["offsets"] == [
            {"topic": "again", "partition": 0, "offset": 3}
        ]
    assert broker.lag("again", "again") == 2
    with connect(pages, path) as socket:
        assert hear(socket)["offset"] == 3


def test_members_share_and_take_over(broker: Broker, pages: TestClient) -> None:
    """Two of a group have a partition each; when one goes, the other has both, at once: whoever
    goes says so, and nobody waits for a session's end."""
    fill(broker, "shared", 0, partitions=2)
    path = f"{GROUPS}/shared/stream?topics=shared&offset=earliest&ack=auto"
    with connect(pages, path) as first:
        while len(hear(first, "member")["partitions"]) != 2:
            pass
        with connect(pages, path) as second:
            while len(hear(second, "member")["partitions"]) != 1:
                pass
            while len(hear(first, "member")["partitions"]) != 1:
                pass
            for partition in range(2):
                broker.produce("shared", b"x", partition=partition)
            assert {hear(first)["partition"], hear(second)["partition"]} == {0, 1}
        while len(hear(first, "member")["partitions"]) != 2:
            pass
    assert broker.lag("shared", "shared") == 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{TOPICS}/none/partitions/0/stream", 404),
        (f"{TOPICS}/there/partitions/9/stream", 404),
        (f"{TOPICS}/there/partitions/0/stream?offset=99", 400),
        (f"{TOPICS}/there/partitions/0/stream?window=-1", 400),
        (f"{GROUPS}/g/stream", 400),
        (f"{GROUPS}/g/stream?topics=none", 404),
        (f"{GROUPS}/g/stream?topics=there&window=0", 400),
        (f"{GROUPS}/g/stream?topics=there&ack=never", 400),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_opened(
    broker: Broker, pages: TestClient, over_http: httpx.Client, path: str, status: int
) -> None:
    if "there" not in broker.topics():
        broker.create_topic("there")
    with pytest.raises(WebSocketDenialResponse) as refused, connect(pages, path):
        pass
    assert refused.value.status_code == status
    if "window" not in path:  # of WebSockets alone
        answer = over_http.get(path)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"


def test_who_is_refused_is_told_that_the_connection_ends(broker: Broker) -> None:
    """A client that keeps connections would ask the next thing on it, and hear nothing. Asked for
    on a connection that was used before, it is refused all the same."""
    address = broker.http.removeprefix("http://")
    asking = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": base64.b64encode(bytes(16)).decode(),
    }
    with closing(HTTPConnection(address, timeout=30)) as client:
        for _ in range(2):
            client.request("GET", "/health/live")
            assert client.getresponse().read()
            client.request("GET", f"{TOPICS}/none/partitions/0/stream", headers=asking)
            answer = client.getresponse()
            assert (answer.status, answer.getheader("connection")) == (404, "close")
            assert answer.getheader("x-content-type-options") == "nosniff"
            assert json.loads(answer.read())["error"] == "UNKNOWN_TOPIC_OR_PARTITION"


def test_a_bug_behind_a_websocket_is_in_the_journal(
    broker: Broker, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Feed) -> list[Some]:
        raise ZeroDivisionError

    broker.create_topic("bug")
    monkeypatch.setattr(Feed, "next", broken)
    with (
        pytest.raises(WebSocketDisconnect),
        connect(pages, f"{TOPICS}/bug/partitions/0/stream") as socket,
    ):
        socket.receive_text()
    found = [told for level, said, told in broker.events() if (level, said) == ("error", "bug")]
    assert [one["http"] for one in found] == [f"{TOPICS}/bug/partitions/0/stream"]


def test_an_acknowledgement_that_comes_twice_ends_nothing(
    broker: Broker, pages: TestClient
) -> None:
    fill(broker, "twice", 3)
    with connect(pages, f"{GROUPS}/twice/stream?topics=twice&offset=earliest") as socket:
        told = [hear(socket) for _ in range(3)]
        for one in (told[1], told[1], told[0], told[2]):
            ack(socket, one)
        while hear(socket, "committed")["offsets"][0]["offset"] != 3:
            pass
        ack(socket, {**told[2], "offset": 3})
        assert "never told" in hear_the_last(socket)["detail"]
    assert broker.lag("twice", "twice") == 0


@pytest.mark.parametrize(
    "frame",
    ["no JSON", "[]", '{"type": "nack"}', '{"type": "ack"}', '{"type":"ack","topic":"there"}'],
)
def test_a_frame_that_says_nothing_ends_it(broker: Broker, pages: TestClient, frame: str) -> None:
    if "there" not in broker.topics():
        broker.create_topic("there")
    with connect(pages, f"{TOPICS}/there/partitions/0/stream") as socket:
        socket.send_text(frame)
        assert json.loads(socket.receive_text())["type"] == "error"
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert closed.value.code == 1003
