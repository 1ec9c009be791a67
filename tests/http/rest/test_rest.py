"""Records, topics and groups over HTTP."""

import json
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.testing import Broker


def produce(http: httpx.Client, topic: str, **message: Any) -> Any:
    answer = http.post(f"/api/v1/topics/{topic}/messages", json=message)
    assert answer.status_code == 200, answer.text
    return answer.json()


def messages(http: httpx.Client, topic: str, **query: Any) -> Any:
    answer = http.get(f"/api/v1/topics/{topic}/partitions/0/messages", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_message_is_written_and_read(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("written", partitions=1)
    told = produce(over_http, "written", key="k", value={"a": [1]}, headers={"h": "x"})
    assert (told["partition"], told["offset"]) == (0, 0)
    record = broker.records("written")[0]
    assert (record.key, record.value) == (b"k", b'{"a":[1]}')
    assert list(record.headers) == [("h", b"x")]
    read = messages(over_http, "written", offset=0)
    assert read["nextOffset"] == read["highWatermark"] == 1
    assert read["messages"] == [
        {
            "offset": 0,
            "timestamp": told["timestamp"],
            "key": "k",
            "keyEncoding": "text",
            "value": {"a": [1]},
            "valueEncoding": "json",
            "headers": [{"name": "h", "value": "x", "valueEncoding": "text"}],
        }
    ]


@pytest.mark.parametrize(
    ("written", "stored", "read"),
    [
        ({"value": "text"}, b"text", ("text", "text")),
        ({"value": None}, None, (None, None)),
        ({}, None, (None, None)),
        ({"value": 7}, b"7", (7, "json")),
        ({"value": ""}, b"", ("", "text")),
        ({"valueBase64": "AP8="}, b"\0\xff", ("AP8=", "base64")),
        ({"value": "NaN"}, b"NaN", ("NaN", "text")),
        ({"value": "é"}, "é".encode(), ("é", "text")),
    ],
)
def test_bytes_are_told_as_what_they_say(
    broker: Broker, over_http: httpx.Client, written: Any, stored: Any, read: Any
) -> None:
    told = produce(over_http, "bytes", partition=0, **written) if _made(broker, "bytes") else {}
    assert broker.records("bytes")[told["offset"]].value == stored
    message = messages(over_http, "bytes", offset=told["offset"])["messages"][0]
    assert (message["value"], message.get("valueEncoding")) == read
    if stored is not None:
        raw = messages(over_http, "bytes", offset=told["offset"], **{"as": "base64"})
        assert raw["messages"][0]["valueEncoding"] == "base64"


def _made(broker: Broker, topic: str) -> bool:
    if topic not in broker.topics():
        broker.create_topic(topic, partitions=1)
    return True


def test_many_go_to_the_partitions_of_their_keys(broker: Broker, over_http: httpx.Client) -> None:
    """A key's partition is the one that Kafka's own clients choose (murmur2)."""
    broker.create_topic("many", partitions=3)
    sent = [{"key": f"k{n}", "value": n} for n in range(30)] + [{"value": n} for n in range(6)]
    answer = over_http.post("/api/v1/topics/many/messages", json={"messages": sent})
    rows = answer.json()["messages"]
    assert answer.status_code == 200
    assert len({(row["partition"], row["offset"]) for row in rows}) == 36
    assert {row["partition"] for row in rows[30:]} == {0, 1, 2}
    again = produce(over_http, "many", key="k7", value="again")
    assert again["partition"] == rows[7]["partition"]


def test_pages_of_messages_join_without_a_gap(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("paged", partitions=1)
    sent = {"messages": [{"value": n} for n in range(25)]}
    over_http.post("/api/v1/topics/paged/messages", json=sent)
    seen: list[int] = []
    offset = 0
    while offset < 25:
        page = messages(over_http, "paged", offset=offset, limit=10)
        seen += [one["value"] for one in page["messages"]]
        assert page["nextOffset"] > offset
        offset = page["nextOffset"]
    assert seen == list(range(25))
    assert messages(over_http, "paged", offset="latest")["messages"] == []
    assert len(messages(over_http, "paged")["messages"]) == 25


def test_a_groups_offsets_are_committed_and_told_with_its_lag(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("lagging", partitions=1)
    over_http.post(
        "/api/v1/topics/lagging/messages", json={"messages": [{"value": n} for n in range(5)]}
    )
    path = "/api/v1/consumer-groups/g/offsets"
    body = {"offsets": [{"topic": "lagging", "partition": 0, "offset": 2}]}
    answer = over_http.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"group": "g", **body}
    row = over_http.get(path).json()["offsets"][0]
    assert row == {"topic": "lagging", "partition": 0, "offset": 2, "endOffset": 5, "lag": 3}
    assert broker.lag("g", "lagging") == 3
    assert "g" in [one["name"] for one in over_http.get("/api/v1/consumer-groups").json()["groups"]]


def test_topics_are_listed_and_described(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("shown-1", partitions=2)
    broker.create_topic("shown-2", partitions=1)
    first = over_http.get("/api/v1/topics", params={"after": "shown", "limit": 1}).json()
    assert first == {"topics": [{"name": "shown-1", "partitions": 2}], "next": "shown-1"}
    produce(over_http, "shown-1", partition=1, value="x")
    told = over_http.get("/api/v1/topics/shown-1").json()["partitions"]
    assert [(one["startOffset"], one["endOffset"]) for one in told] == [(0, 0), (0, 1)]


def test_a_stream_tells_what_comes_and_goes_on_where_it_was(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("streamed", partitions=1)
    for n in range(3):
        produce(over_http, "streamed", value=n)
    path = "/api/v1/topics/streamed/partitions/0/stream"

    def take(count: int, **options: Any) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        with over_http.stream("GET", path, **options) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    message = json.loads(line.removeprefix("data: "))
                    found.append((message["offset"], message["value"]))
                    if len(found) == 3:
                        # It has had all there was: what is written now comes as it is written.
                        broker.produce("streamed", b"3")
                    if len(found) == count:
                        break
        return found

    assert take(4, params={"offset": 0}) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert take(2, headers={"Last-Event-ID": "1"}) == [(2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/topics/none/messages", {"value": 1}, 404),
        ("GET", "/topics/none", None, 404),
        ("GET", "/topics/none/partitions/0/messages", None, 404),
        ("GET", "/topics/there/partitions/9/messages", None, 404),
        ("GET", "/topics/there/partitions/x/messages", None, 400),
        ("GET", "/topics/there/partitions/0/messages?offset=-5", None, 400),
        ("GET", "/topics/there/partitions/0/messages?offset=99", None, 400),
        ("GET", "/topics/there/partitions/0/messages?offset=", None, 400),
        ("GET", "/topics/there/partitions/0/messages?limit=0", None, 400),
        ("GET", "/topics/there/partitions/0/messages?limits=1", None, 400),
        ("GET", "/topics/there/partitions/0/messages?as=xml", None, 400),
        ("GET", "/topics/there/partitions/0/stream?offset=99", None, 400),
        ("POST", "/topics/there/messages", [], 400),
        ("POST", "/topics/there/messages", {"valu": 1}, 400),
        ("POST", "/topics/there/messages", {"partition": 9, "value": 1}, 400),
        ("POST", "/topics/there/messages", {"valueBase64": "?", "key": 1}, 400),
        ("POST", "/topics/there/messages", {"value": 1, "valueBase64": "AA=="}, 400),
        ("POST", "/topics/there/messages", {"headers": 1}, 400),
        ("POST", "/topics/there/messages", {"headers": [{"name": "h", "valu": "x"}]}, 400),
        ("POST", "/topics/there/messages", {"messages": []}, 400),
        ("POST", "/topics/there/messages", {"messages": [1]}, 400),
        ("POST", "/topics/there/messages", {"valueSchema": {"wrong": 1}}, 400),
        ("POST", "/topics/there/messages", {"valueSchema": {"references": [1]}}, 400),
        ("POST", "/topics/there/messages", {"messages": [{"value": "x" * 2_000_000}]}, 413),
        ("POST", "/topics/there/messages", {"value": "x" * 2_000_000}, 413),
        ("POST", "/consumer-groups/g/offsets", {"offsets": []}, 400),
        ("POST", "/consumer-groups/g/offsets", {"offsets": [{"topic": "there"}]}, 400),
        (
            "POST",
            "/consumer-groups/g/offsets",
            {"offsets": [{"topic": "none", "partition": 0, "offset": 1}]},
            404,
        ),
    ],
)
def test_what_cannot_be_is_a_problem(
    broker: Broker, over_http: httpx.Client, method: str, path: str, body: Any, status: int
) -> None:
    _made(broker, "there")
    answer = over_http.request(method, f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]


def test_a_member_keeps_others_from_committing_for_it(
    broker: Broker, over_http: httpx.Client
) -> None:
    from confluent_kafka import Consumer

    _made(broker, "there")
    conf = {"bootstrap.servers": broker.bootstrap, "group.id": "busy"}
    consumer = Consumer(conf)
    consumer.subscribe(["there"])
    while not consumer.assignment():
        consumer.poll(0.1)
    body = {"offsets": [{"topic": "there", "partition": 0, "offset": 0}]}
    answer = over_http.post("/api/v1/consumer-groups/busy/offsets", json=body)
    consumer.close()
    assert answer.status_code == 409, answer.text
