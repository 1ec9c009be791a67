"""The test API as another language meets it: JSON over HTTP, beside a stock client."""

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from confluent_kafka import Consumer, Producer

from kafkapy.testing import Broker
from kafkapy.testing.http import Kit, TestApi, loopback_address


class Client:
    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, headers, method=method)
        try:
            with urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except HTTPError as failed:
            with failed:
                return failed.code, json.load(failed)

    def get(self, path: str) -> Any:
        status, answer = self.ask("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path: str, body: Any = None) -> Any:
        status, answer = self.ask("POST", path, body)
        assert status == 200, answer
        return answer

    def refused(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        status, answer = self.ask(method, path, body, **headers)
        return status, f"{answer['error']}: {answer['message']}"


@pytest.fixture
def kit() -> Iterator[Kit]:
    kit = Kit(lambda port: Broker(port=port or 0))
    kit.start()
    yield kit
    kit.close()


@pytest.fixture
def api(kit: Kit) -> Iterator[Client]:
    served = TestApi(kit, "127.0.0.1", 0)
    yield Client(served.url)
    served.close()


def produce(api: Client, value: bytes) -> None:
    bootstrap = api.get("/broker")["bootstrap"]
    producer = Producer({"bootstrap.servers": bootstrap, "retry.backoff.ms": 10})
    producer.produce("orders", value)
    assert producer.flush(20) == 0


def test_records_go_in_and_out_whatever_their_bytes(api: Client) -> None:
    api.post("/topics", {"topic": "orders", "partitions": 2, "config": {"retention.ms": "60000"}})
    assert api.get("/topics") == [{"topic": "orders", "partitions": 2}]
    written = api.post(
        "/topics/orders/records",
        {"key": "k", "value_base64": "/w==", "headers": {"h": "1"}, "partition": 1, "timestamp": 7},
    )
    assert written == {"topic": "orders", "partition": 1}
    (record,) = api.get("/topics/orders/records")
    assert (record["key"], record["value_base64"], record["timestamp"]) == ("k", "/w==", 7)
    assert record["headers"] == [{"name": "h", "value": "1"}]
    assert (record["offset"], record["transaction"], record["is_visible"]) == (0, None, True)


def test_a_client_is_waited_for_and_seen_asking(api: Client) -> None:
    produce(api, b"1")
    (record,) = api.get("/topics/orders/records?count=1&timeout_ms=5000")
    assert record["value"] == "1"
    (asked,) = api.get("/requests?api=Produce")
    assert asked["topics"] == ["orders"]
    assert api.ask("DELETE", "/requests") == (200, {})
    assert api.get("/requests?api=Produce") == []
    assert api.refused("GET", "/topics/orders/records?count=2&timeout_ms=10")[0] == 504
    assert isinstance(api.get("/events"), list)


def test_faults_happen_and_those_that_never_did_are_said(api: Client) -> None:
    api.post("/topics", {"topic": "orders"})
    fault = api.post(
        "/faults",
        {"api": "Produce", "topic": "orders", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2},
    )
    status, sentence = api.refused("POST", "/faults/check")
    assert (status, "no request matched" in sentence) == (409, True)
    produce(api, b"1")
    assert api.get("/faults")[0] == {**fault, "fired": 2}
    assert api.post("/faults/check") == {}
    assert api.ask("DELETE", "/faults") == (200, {})
    assert api.get("/faults") == []


def test_a_held_request_is_released(api: Client) -> None:
    api.post("/topics", {"topic": "orders"})
    held = api.post("/faults", {"api": "Produce", "instead": "hold"})
    writer = threading.Thread(target=produce, args=(api, b"1"))
    writer.start()
    while not api.get("/faults")[0]["fired"]:
        pass
    assert api.get("/topics/orders/records") == []
    api.post(f"/faults/{held['id']}/release")
    writer.join(20)
    assert len(api.get("/topics/orders/records")) == 1


def test_groups_their_lag_and_their_bad_days(api: Client) -> None:
    api.post("/topics/orders/records", {"value": "1"})
    consumer = Consumer(
        {
            "bootstrap.servers": api.get("/broker")["bootstrap"],
            "group.id": "billing",
            "client.id": "biller",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["orders"])
    try:
        message = consumer.poll(20)
        assert message is not None
        assert api.get("/groups/billing/lag") == {"lag": 1}
        consumer.commit(message=message, asynchronous=False)
        committed = [{"topic": "orders", "partition": 0, "offset": 1}]
        assert api.get("/groups/billing/committed") == committed
        (group,) = api.get("/groups")
        assert group["members"][0]["partitions"] == [{"topic": "orders", "partition": 0}]
        assert api.post("/coordinators/lose", {"group": "billing"}) == {"lost": 1}
        status, sentence = api.refused("GET", "/groups/billing/committed")
        assert (status, sentence[:15]) == (409, "NOT_COORDINATOR")
        assert api.post("/coordinators/elect") == {"elected": 1}
        gone = api.post("/groups/billing/expire", {"client_id": "biller"})
        assert gone["client_id"] == "biller"
    finally:
        consumer.close()


def test_the_broker_comes_and_goes_and_its_time_passes(api: Client) -> None:
    bootstrap = api.get("/broker")["bootstrap"]
    api.post("/topics/orders/records", {"value": "1"})
    assert api.post("/clock/advance", {"hours": 1, "ms": 5}) == {"clock_ahead_ms": 3_600_005}
    assert not api.post("/broker/kill")["is_running"]
    assert api.refused("GET", "/topics")[0] == 409
    assert api.post("/broker/start")["bootstrap"] == bootstrap
    assert api.refused("POST", "/broker/start")[0] == 400
    api.post("/broker/restart")
    assert len(api.get("/topics/orders/records")) == 1
    api.post("/disk/fill")
    assert api.refused("POST", "/topics", {"topic": "late"})[0] == 409
    api.post("/disk/free")
    while api.get("/broker")["is_running"]:
        pass
    api.post("/broker/start")
    api.post("/broker/stop")
    assert api.post("/broker/reset")["bootstrap"] == bootstrap
    assert api.get("/topics") == []
    assert api.get("/broker")["clock_ahead_ms"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "sentence"),
    [
        ("GET", "/nothing", None, 404, "there is nothing at /nothing"),
        ("DELETE", "/topics", None, 405, "/topics takes GET, POST"),
        ("GET", "/topics/none/records", None, 409, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("GET", "/groups/none/lag", None, 404, "there is no group 'none'"),
        ("POST", "/topics", {}, 400, "topic: must be given"),
        ("POST", "/topics", [], 400, "not a JSON object"),
        ("POST", "/topics", {"topic": "t", "partition": 1}, 400, "unknown field 'partition'"),
        ("POST", "/topics", {"topic": "t", "partitions": "1"}, 400, "expected integer, not"),
        ("POST", "/topics", {"topic": "t", "config": {"a": 1}}, 400, "values are text"),
        ("POST", "/topics", {"topic": "t", "partitions": 1 << 31}, 400, "is too large"),
        ("POST", "/topics/t/records", {"timestamp": 1 << 63}, 400, "is too large"),
        ("POST", "/topics/t/records", {"partition": 7}, 409, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("POST", "/topics/t/records", {"value_base64": "?"}, 400, "value_base64: "),
        ("POST", "/topics/t/records", {"value": "", "value_base64": ""}, 400, "not both"),
        ("POST", "/topics/t/records", {"headers": [1]}, 400, "headers: expected"),
        ("GET", "/topics/t/records?count=many", None, 400, "expected integer, not 'many'"),
        ("GET", "/requests?api=Prodcue", None, 400, "did you mean Produce"),
        ("POST", "/faults", {"api": "Prodcue"}, 400, "did you mean Produce"),
        ("POST", "/faults", {"api": "Produce"}, 400, "a fault says what happens"),
        ("POST", "/faults", {"api": "Produce", "error": "NOT_LEAD"}, 400, "did you mean NOT_"),
        ("POST", "/faults", {"api": "Produce", "instead": "cry"}, 400, "expected one of drop"),
        ("POST", "/faults", {"api": "Produce", "probability": 0.5}, 400, "give a seed"),
        ("POST", "/faults/9/release", None, 404, "there is no fault 9"),
        ("POST", "/clock/advance", {"hours": -1}, 400, "time goes forward only"),
    ],
)
def test_what_is_asked_wrongly_is_said(
    api: Client, method: str, path: str, body: Any, status: int, sentence: str
) -> None:
    answered, said = api.refused(method, path, body)
    assert answered == status
    assert sentence in said
    assert api.get("/faults") == []  # nothing of it stays


def test_only_this_machine_may_ask(api: Client) -> None:
    assert api.refused("GET", "/broker", Host="evil.example")[0] == 403
    assert api.refused("POST", "/broker/kill", Origin="http://evil.example")[0] == 403
    assert api.get("/broker")["is_running"]


def test_only_loopback_is_listened_on() -> None:
    assert loopback_address("127.0.0.1:0") == ("127.0.0.1", 0)
    assert loopback_address("[::1]:9099") == ("::1", 9099)
    for address in ("0.0.0.0:9099", "10.0.0.1:9099", "example.org:9099"):
        with pytest.raises(ValueError, match="loopback addresses only"):
            loopback_address(address)
    for address in ("9099", "localhost", "localhost:x"):
        with pytest.raises(ValueError, match="expected HOST:PORT"):
            loopback_address(address)


def test_a_body_without_end_is_refused_and_the_connection_closed(api: Client) -> None:
    host, _, port = api.url.removeprefix("http://").partition(":")
    for header in (
        "Transfer-Encoding: chunked",
        "Content-Length: 99999999999",
        "Content-Length: x",
    ):
        with socket.create_connection((host, int(port)), timeout=10) as client:
            client.sendall(f"POST /topics HTTP/1.1\r\nHost: localhost\r\n{header}\r\n\r\n".encode())
            with client.makefile("rb") as answer:
                assert b" 413 " in answer.readline()
                assert answer.read()  # to the end: it hangs up


NODE = """
const url = process.argv[1];
const ask = async (method, path, body) => {
  const answer = await fetch(url + path, {method, body: body && JSON.stringify(body)});
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.message);
  return json;
};
await ask('POST', '/topics', {topic: 'orders'});
await ask('POST', '/topics/orders/records', {value: 'hello', key: 'k'});
const [record] = await ask('GET', '/topics/orders/records?count=1');
await ask('POST', '/faults', {api: 'Fetch', error: 'NOT_LEADER_OR_FOLLOWER'});
try { await ask('POST', '/faults/check'); } catch (error) { console.log(error.message); }
console.log(record.value);
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on the PATH")
def test_it_is_driven_from_javascript(api: Client) -> None:
    done = subprocess.run(
        ["node", "--input-type=module", "-e", NODE, api.url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = "faults.on('Fetch').error(NOT_LEADER_OR_FOLLOWER): no request matched\nhello\n"
    assert done.stdout == said, done.stderr


def test_an_api_that_is_closed_leaves_no_thread(kit: Kit) -> None:
    before = threading.active_count()
    served = TestApi(kit, "127.0.0.1", 0)
    assert Client(served.url).get("/topics") == []
    served.close()
    deadline = threading.Event()
    while threading.active_count() > before:
        assert not deadline.wait(0.01)
