"""Version 3 of Confluent's REST API, asked as its documentation asks."""

import json
import socket
from base64 import b64encode
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from kafkapy.http.confluent.v3.stream import Unread
from kafkapy.http.problems import Problem
from kafkapy.testing import Broker


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


@pytest.fixture
def cluster(over_http: httpx.Client) -> str:
    """Its path."""
    answer = over_http.get("/v3/clusters").json()
    assert answer["kind"] == "KafkaClusterList"
    return urlsplit(str(answer["data"][0]["metadata"]["self"])).path


def test_a_record_is_written_in_each_of_its_types(
    broker: Broker, over_http: httpx.Client, cluster: str
) -> None:
    broker.create_topic("typed", partitions=2)
    body = {
        "partition_id": 1,
        "headers": [{"name": "h", "value": encoded("x")}, {"name": "none", "value": None}],
        "key": {"type": "BINARY", "data": encoded("k")},
        "value": {"type": "JSON", "data": {"a": "b"}},
        "timestamp": "2021-02-05T19:14:42Z",
    }
    answer = over_http.post(f"{cluster}/topics/typed/records", json=body)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["error_code"] == 200
    assert (told["topic_name"], told["partition_id"], told["offset"]) == ("typed", 1, 0)
    assert told["timestamp"] == "2021-02-05T19:14:42.000Z"
    assert told["key"] == {"type": "BINARY", "size": 1}
    assert told["value"] == {"type": "JSON", "size": 9}
    text = {"value": {"type": "STRING", "data": "plain"}, "partition_id": 0}
    assert over_http.post(f"{cluster}/topics/typed/records", json=text).status_code == 200
    found = {one.partition: one for one in broker.records("typed")}
    assert (found[1].key, found[1].value) == (b"k", b'{"a":"b"}')
    assert list(found[1].headers) == [("h", b"x"), ("none", None)]
    assert found[0].value == b"plain"


def test_a_record_of_a_schema_is_written_as_confluents_serializers_do(
    broker: Broker, over_http: httpx.Client, cluster: str
) -> None:
    broker.create_topic("avro")
    path = f"{cluster}/topics/avro/records"
    value = {"type": "AVRO", "schema": '"string"', "data": "hello"}
    assert over_http.post(path, json={"value": value}).status_code == 200
    latest = {"value": {"data": "again"}}
    assert over_http.post(path, json=latest).status_code == 200
    unfit = over_http.post(path, json={"value": {"data": 3}})
    assert (unfit.status_code, unfit.json()["error_code"]) == (422, 422)
    values = [one.value or b"" for one in broker.records("avro")]
    assert [one[5:] for one in values] == [b"\nhello", b"\nagain"]
    assert values[0][:5] == values[1][:5]


def test_records_are_answered_while_more_of_them_come(
    broker: Broker, over_http: httpx.Client, cluster: str
) -> None:
    """On one connection: a record, its answer, and only then the next."""
    broker.create_topic("streamed-v3")
    url = urlsplit(str(over_http.base_url))
    with socket.create_connection((url.hostname, url.port), timeout=30) as raw:
        head = (
            f"POST {cluster}/topics/streamed-v3/records HTTP/1.1\r\nhost: {url.netloc}\r\n"
            "content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        raw.sendall(head.encode())
        answered = b""
        for n in range(3):
            # The third is wrong, and keeps nobody else from being written.
            one = {"value": {"type": "STRING" if n < 2 else "NUMBER", "data": f"{n}"}}
            data = json.dumps(one).encode()
            raw.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            while answered.count(b'"error_code"') <= n:
                got = raw.recv(65536)
                assert got, answered
                answered += got
        raw.sendall(b"0\r\n\r\n")
        while not answered.endswith(b"0\r\n\r\n"):
            answered += raw.recv(65536)
    assert answered.startswith(b"HTTP/1.1 200")
    assert answered.count(b'"error_code": 200') == 2
    assert answered.count(b'"error_code": 400') == 1
    assert [one.value for one in broker.records("streamed-v3")] == [b"0", b"1"]


def test_more_than_a_request_may_have_can_be_streamed(
    broker: Broker, over_http: httpx.Client, cluster: str
) -> None:
    """12 MiB where a body may have 8: of a stream it is the record that is bounded."""
    broker.create_topic("endless")
    one = json.dumps({"value": {"type": "STRING", "data": "x" * 500_000}}).encode()
    answer = over_http.post(
        f"{cluster}/topics/endless/records",
        content=(one for _ in range(24)),
        headers={"content-type": "application/json"},
    )
    rows = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["offset"] for row in rows] == list(range(24))


def test_a_batch_tells_of_each_entry(broker: Broker, over_http: httpx.Client, cluster: str) -> None:
    broker.create_topic("batched")
    good = {"id": "1", "value": {"type": "STRING", "data": "a"}}
    body = {"entries": [good, {"id": "2", "partition_id": 7}, {"id": "3", "value": 3}]}
    answer = over_http.post(f"{cluster}/topics/batched/records:batch", json=body)
    assert answer.status_code == 207
    told = answer.json()
    assert [(one["id"], one["offset"]) for one in told["successes"]] == [("1", 0)]
    assert [(one["id"], one["error_code"]) for one in told["failures"]] == [("2", 404), ("3", 400)]


def test_topics_are_made_seen_and_deleted(over_http: httpx.Client, cluster: str) -> None:
    wanted = {
        "topic_name": "made-v3",
        "partitions_count": 2,
        "replication_factor": 1,
        "configs": [{"name": "retention.ms", "value": "5000"}],
    }
    made = over_http.post(f"{cluster}/topics", json=wanted)
    assert made.status_code == 201, made.text
    path = urlsplit(made.json()["metadata"]["self"]).path
    told = over_http.get(path).json()
    assert (told["kind"], told["partitions_count"], told["replication_factor"]) == (
        "KafkaTopic",
        2,
        1,
    )
    partitions = over_http.get(urlsplit(told["partitions"]["related"]).path).json()["data"]
    assert [one["partition_id"] for one in partitions] == [0, 1]
    leader = urlsplit(partitions[0]["leader"]["related"]).path
    assert over_http.get(leader).json()["kind"] == "KafkaBroker"
    assert over_http.get(f"{path}/configs/retention.ms").json()["value"] == "5000"
    change = {"data": [{"name": "retention.ms", "operation": "DELETE"}]}
    assert over_http.post(f"{path}/configs:alter", json=change).status_code == 204
    assert over_http.put(f"{path}/configs/segment.ms", json={"value": "7000"}).status_code == 204
    configs = {one["name"]: one for one in over_http.get(f"{path}/configs").json()["data"]}
    assert configs["retention.ms"]["is_default"]
    assert configs["segment.ms"]["source"] == "DYNAMIC_TOPIC_CONFIG"
    listed = over_http.get(f"{cluster}/topics").json()["data"]
    assert "made-v3" in [one["topic_name"] for one in listed]
    assert over_http.delete(path).status_code == 204
    gone = over_http.get(path)
    assert (gone.status_code, gone.json()["error_code"]) == (404, 40403)


def test_groups_are_told_with_their_lag(
    broker: Broker, over_http: httpx.Client, cluster: str
) -> None:
    broker.create_topic("behind")
    for n in range(3):
        broker.produce("behind", str(n))
    offsets = {"offsets": [{"topic": "behind", "partition": 0, "offset": 1}]}
    over_http.post("/api/v1/consumer-groups/slow/offsets", json=offsets)
    names = [
        one["consumer_group_id"]
        for one in over_http.get(f"{cluster}/consumer-groups").json()["data"]
    ]
    assert "slow" in names
    assert over_http.get(f"{cluster}/consumer-groups/slow").json()["state"] == "EMPTY"
    lag = over_http.get(f"{cluster}/consumer-groups/slow/lags").json()["data"][0]
    assert (lag["current_offset"], lag["log_end_offset"], lag["lag"]) == (1, 3, 2)
    summary = over_http.get(f"{cluster}/consumer-groups/slow/lag-summary").json()
    assert (summary["total_lag"], summary["max_lag_topic_name"]) == (2, "behind")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v3/clusters/other", None, 404, 404),
        ("POST", "{}/topics/nowhere/records", {"value": None}, 404, 40403),
        ("POST", "{}/topics/there-v3/records", {"wrong": 1}, 400, 400),
        ("POST", "{}/topics/there-v3/records", {"value": {"type": "X", "data": 1}}, 400, 400),
        ("POST", "{}/topics/there-v3/records", {"partition_id": 9}, 404, 404),
        ("POST", "{}/topics/there-v3/records", {"timestamp": "today"}, 400, 400),
        (
            "POST",
            "{}/topics/there-v3/records",
            {"value": {"type": "BINARY", "data": "?"}},
            400,
            400,
        ),
        ("POST", "{}/topics/there-v3/records:batch", {"entries": []}, 400, 400),
        ("POST", "{}/topics", {"topic_name": "bad name"}, 400, 40002),
        ("POST", "{}/topics", {"partitions_count": 3}, 400, 400),
        ("GET", "{}/topics/there-v3/configs/none", None, 404, 404),
        ("GET", "{}/consumer-groups/none/lag-summary", None, 404, 404),
    ],
)
def test_what_cannot_be_is_refused_with_a_code(
    broker: Broker,
    over_http: httpx.Client,
    cluster: str,
    method: str,
    path: str,
    body: Any,
    status: int,
    code: int,
) -> None:
    if "there-v3" not in broker.topics():
        broker.create_topic("there-v3")
    answer = over_http.request(method, path.format(cluster), json=body)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code), answer.text


def test_what_comes_in_pieces_is_whole_in_the_end() -> None:
    values: list[Any] = [{"a": 'é\\"}{'}, {"b": [True, None, 1.5]}, {}]
    text = "\n".join(json.dumps(one, ensure_ascii=False) for one in values).encode()
    for size in range(1, len(text) + 1):
        unread = Unread(1000)
        found = [
            one for at in range(0, len(text), size) for one in unread.take(text[at : at + size])
        ]
        assert found + unread.take(b"", is_end=True) == values, size


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b'{"a": wrong because of this}', 400),
        (b"\xff", 400),
        (b"[" * 5000, 400),
        (b'"' + b"x" * 99, 413),
    ],
)
def test_what_can_never_be_whole_is_refused_at_once(data: bytes, status: int) -> None:
    with pytest.raises(Problem) as refused:
        Unread(50).take(data)
    assert refused.value.status == status
