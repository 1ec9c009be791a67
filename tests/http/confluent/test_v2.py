"""Version 2 of Confluent's REST API, asked as its documentation asks."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.http.confluent.v2 import instances
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import HEADER_SIZE, NewRecord, build_batch, pack_batch
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD
from tests.http.entrance.test_login import SASL
from tests.http.pages import client_of

JSON = "application/vnd.kafka.json.v2+json"
AVRO = "application/vnd.kafka.avro.v2+json"
BINARY = "application/vnd.kafka.binary.v2+json"
V2 = {"content-type": "application/vnd.kafka.v2+json"}


def produce(http: httpx.Client, topic: str, media: str, *records: Any, **beside: Any) -> Any:
    body = {"records": list(records), **beside}
    answer = http.post(f"/topics/{topic}", json=body, headers={"content-type": media})
    assert answer.status_code == 200, answer.text
    return answer.json()


def make(http: httpx.Client, group: str, **settings: Any) -> str:
    wanted = {"format": "json", "auto.offset.reset": "earliest", **settings}
    answer = http.post(f"/consumers/{group}", json=wanted, headers=V2)
    assert answer.status_code == 200, answer.text
    return urlsplit(str(answer.json()["base_uri"])).path


def take(http: httpx.Client, base: str, count: int, media: str = JSON) -> list[Any]:
    """Until so many have come."""
    found: list[Any] = []
    while len(found) < count:
        answer = http.get(f"{base}/records", params={"timeout": 3000}, headers={"accept": media})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == media
        found += answer.json()
    return found


def test_a_consumer_reads_commits_and_another_goes_on(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("v2", partitions=1)
    told = produce(over_http, "v2", JSON, {"key": "k", "value": {"n": 0}}, {"value": "text"})
    assert told["offsets"] == [
        {"partition": 0, "offset": at, "error_code": None, "error": None} for at in (0, 1)
    ]
    assert [one.value for one in broker.records("v2")] == [b'{"n":0}', b'"text"']
    base = make(over_http, "g", name="first", **{"auto.commit.enable": "false"})
    assert over_http.post(f"{base}/subscription", json={"topics": ["v2"]}).status_code == 204
    assert over_http.get(f"{base}/subscription").json() == {"topics": ["v2"]}
    assert take(over_http, base, 2) == [
        {"topic": "v2", "partition": 0, "key": "k", "value": {"n": 0}, "offset": 0},
        {"topic": "v2", "partition": 0, "key": None, "value": "text", "offset": 1},
    ]
    done = {"offsets": [{"topic": "v2", "partition": 0, "offset": 0}]}
    assert over_http.post(f"{base}/offsets", json=done).status_code == 200
    where = {"partitions": [{"topic": "v2", "partition": 0}]}
    committed = over_http.request("GET", f"{base}/offsets", json=where).json()["offsets"]
    assert committed == [{"topic": "v2", "partition": 0, "offset": 1, "metadata": ""}]
    assert over_http.delete(base).status_code == 204
    again = make(over_http, "g")
    over_http.post(f"{again}/subscription", json={"topics": ["v2"]})
    assert [one["offset"] for one in take(over_http, again, 1)] == [1]
    assert over_http.post(f"{again}/offsets").status_code == 200  # all that was handed out
    assert broker.lag("g", "v2") == 0
    over_http.delete(again)


def test_what_was_handed_out_is_committed_with_the_next_request(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("auto", partitions=1)
    produce(over_http, "auto", JSON, *({"value": n} for n in range(4)))
    base = make(over_http, "auto")
    over_http.post(f"{base}/subscription", json={"topics": ["auto"]})
    assert len(take(over_http, base, 4)) == 4
    over_http.get(f"{base}/records", params={"timeout": 0}, headers={"accept": JSON})
    assert broker.lag("auto", "auto") == 0
    over_http.delete(base)


def test_no_more_than_asked_for_is_handed_out_and_nothing_is_left_out(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("small", partitions=1)
    produce(over_http, "small", BINARY, *({"value": b64encode(bytes(100)).decode()},) * 10)
    base = make(over_http, "small", format="binary")
    assign = {"partitions": [{"topic": "small", "partition": 0}]}
    assert over_http.post(f"{base}/assignments", json=assign).status_code == 204
    assert over_http.get(f"{base}/assignments").json() == assign
    offsets: list[int] = []
    while len(offsets) < 10:
        query = {"max_bytes": 250, "timeout": 1000}
        some = over_http.get(f"{base}/records", params=query, headers={"accept": BINARY}).json()
        assert len(some) <= 2
        offsets += [one["offset"] for one in some]
    assert offsets == list(range(10))
    back = {"offsets": [{"topic": "small", "partition": 0, "offset": 7}]}
    assert over_http.post(f"{base}/positions", json=back).status_code == 204
    assert [one["offset"] for one in take(over_http, base, 3, BINARY)] == [7, 8, 9]
    assert over_http.post(f"{base}/positions/beginning", json=assign).status_code == 204
    assert take(over_http, base, 10, BINARY)[0]["offset"] == 0
    assert over_http.post(f"{base}/positions/end", json=assign).status_code == 204
    query = {"timeout": 0}
    assert over_http.get(f"{base}/records", params=query, headers={"accept": BINARY}).json() == []
    over_http.delete(base)


def test_a_batch_that_nobody_can_read_costs_no_records_of_other_partitions(
    broker: Broker, over_http: httpx.Client
) -> None:
    """Its client says that it has one record more (decision 0002). What there is besides is handed
    out, all of it; the consumer hears of the error when nothing else is left."""
    broker.create_topic("lying", partitions=2)
    lying = pack_batch(
        build_batch([NewRecord(None, b"%10d" % -1, 0)])[HEADER_SIZE:],
        base_offset=0,
        leader_epoch=-1,
        attributes=0,
        last_offset_delta=1,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=2,
    )
    rows = [{"index": 1, "records": lying}]
    topics = [{"name": "lying", "partition_data": rows}]
    body = {"transactional_id": None, "acks": -1, "timeout": 5000, "topic_data": topics}
    row = broker._ask(ApiKey.PRODUCE, 9, body).responses[0].partition_responses[0]
    assert row.error_code == ErrorCode.NONE
    base = make(over_http, "lying")
    places = [{"topic": "lying", "partition": index} for index in (0, 1)]
    assert over_http.post(f"{base}/assignments", json={"partitions": places}).status_code == 204
    found: list[int] = []
    for value in range(3):
        produce(over_http, "lying", JSON, {"value": value, "partition": 0})
        while value not in found:
            answer = over_http.get(f"{base}/records", headers={"accept": JSON})
            assert answer.status_code == 200, (found, answer.text)
            found += [one["value"] for one in answer.json()]
    assert sorted(found) == [-1, 0, 1, 2]
    assert over_http.get(f"{base}/records", headers={"accept": JSON}).status_code == 500


def test_avro_goes_in_and_comes_out_as_json(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("v2-avro", partitions=1)
    schema = '{"type": "record", "name": "P", "fields": [{"name": "n", "type": "int"}]}'
    told = produce(over_http, "v2-avro", AVRO, {"value": {"n": 1}}, value_schema=schema)
    again = produce(
        over_http, "v2-avro", AVRO, {"value": {"n": 2}}, value_schema_id=told["value_schema_id"]
    )
    assert again["value_schema_id"] == told["value_schema_id"] > 0
    base = make(over_http, "v2-avro", format="avro")
    over_http.post(f"{base}/subscription", json={"topics": ["v2-avro"]})
    assert [one["value"] for one in take(over_http, base, 2, AVRO)] == [{"n": 1}, {"n": 2}]
    over_http.delete(base)


def test_two_consumers_share_what_there_is(broker: Broker, over_http: httpx.Client) -> None:
    """Each beats while nobody asks it anything, or its partition would go to the other."""
    broker.create_topic("shared", partitions=2)
    bases = [make(over_http, "shared"), make(over_http, "shared")]
    for base in bases:
        over_http.post(f"{base}/subscription", json={"topics": ["shared"]})

    def owned() -> list[int]:
        found = [over_http.get(f"{base}/assignments").json()["partitions"] for base in bases]
        return sorted(one["partition"] for row in found for one in row if len(row) == 1)

    while owned() != [0, 1]:  # the test's time is bounded
        pass
    for base in bases:
        over_http.delete(base)


def test_topics_are_told(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("told", partitions=2)
    broker.produce("told", "x", partition=1)
    assert "told" in over_http.get("/topics").json()
    told = over_http.get("/topics/told").json()
    assert (told["name"], told["configs"]["cleanup.policy"]) == ("told", "delete")
    assert told["partitions"] == over_http.get("/topics/told/partitions").json()
    assert told["partitions"][1] == over_http.get("/topics/told/partitions/1").json()
    assert told["partitions"][0]["replicas"] == [
        {"broker": told["partitions"][0]["leader"], "leader": True, "in_sync": True}
    ]
    ends = over_http.get("/topics/told/partitions/1/offsets").json()
    assert ends == {"beginning_offset": 0, "end_offset": 1}
    assert over_http.get("/brokers").json() == {"brokers": [told["partitions"][0]["leader"]]}
    answer = over_http.post(
        "/topics/told/partitions/0",
        json={"records": [{"value": 1}]},
        headers={"content-type": JSON},
    )
    assert answer.json()["offsets"][0]["partition"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "code"),
    [
        ("GET", "/topics/nowhere", None, {}, 40401),
        ("POST", "/topics/nowhere", {"records": [{"value": 1}]}, {}, 40401),
        ("GET", "/topics/there/partitions/9", None, {}, 40402),
        ("POST", "/topics/there", {"records": []}, {}, 422),
        ("POST", "/topics/there", {"records": [1]}, {}, 422),
        ("POST", "/topics/there", {"records": [{}]}, {"content-type": "text/csv"}, 415),
        ("POST", "/topics/there", {"records": [{"value": 1}]}, {"content-type": BINARY}, 400),
        ("POST", "/consumers/g", {"format": "xml"}, {}, 42204),
        ("POST", "/consumers/g", {"auto.offset.reset": "middle"}, {}, 42204),
        ("POST", "/consumers/g", {"wrong": 1}, {}, 42204),
        ("POST", "/consumers/g", {"name": "a/b"}, {}, 42204),
        ("DELETE", "/consumers/g/instances/none", None, {}, 40403),
        ("GET", "/consumers/g/instances/none/records", None, {}, 40403),
        ("POST", "/consumers/g/instances/one/subscription", {"topics": "there"}, {}, 422),
        ("GET", "/consumers/g/instances/one/records", None, {"accept": JSON}, 40903),
        ("POST", "/consumers/g", {"name": "one"}, {}, 40902),
    ],
)
def test_what_cannot_be_is_refused_with_a_code(
    broker: Broker,
    over_http: httpx.Client,
    method: str,
    path: str,
    body: Any,
    headers: dict[str, str],
    code: int,
) -> None:
    if "there" not in broker.topics():
        broker.create_topic("there")
        make(over_http, "g", name="one")
    answer = over_http.request(method, path, json=body, headers=headers)
    assert answer.json()["error_code"] == code, answer.text
    assert answer.status_code == int(str(code)[:3])


def test_a_format_that_was_not_made_for_is_refused(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("odd", partitions=1)
    broker.produce("odd", b"no json")
    base = make(over_http, "odd")
    over_http.post(f"{base}/subscription", json={"topics": ["odd"]})
    wrong = over_http.get(f"{base}/records", headers={"accept": BINARY})
    assert (wrong.status_code, wrong.json()["error_code"]) == (406, 40601)
    for _ in range(2):  # it stays where it is
        while True:
            answer = over_http.get(f"{base}/records", headers={"accept": JSON})
            if answer.status_code != 200:
                break
        assert answer.json()["error_code"] == 42203
        assert "odd-0-0" in answer.json()["message"]
    over_http.delete(base)


def test_who_has_asked_nothing_for_long_ends(
    broker: Broker, over_http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its partitions are its group's again."""
    base = make(over_http, "idle")
    monkeypatch.setattr(instances, "IDLE_SECONDS", 0.0)
    while over_http.get(f"{base}/subscription").status_code == 200:
        pass
    assert over_http.get(f"{base}/subscription").json()["error_code"] == 40403


@pytest.fixture
def secured() -> Iterator[Broker]:
    with Broker(SASL) as started:
        yield started


def test_who_may_not_is_refused(secured: Broker) -> None:
    secured.create_topic("mine")
    with client_of(secured, auth=("alice", PASSWORD)) as alice:
        cluster = alice.get("/v3/clusters").json()["data"][0]["cluster_id"]
        record = {"value": {"type": "STRING", "data": "x"}}
        path = f"/v3/clusters/{cluster}/topics"
        for method, where, body in (
            ("POST", f"{path}/mine/records", record),
            ("GET", f"{path}/mine", None),
            ("GET", f"{path}/mine/configs", None),
            ("DELETE", f"{path}/mine", None),
            ("POST", path, {"topic_name": "hers"}),
            ("POST", "/topics/mine", {"records": [{"value": 1}]}),
            ("GET", "/topics/mine", None),
            ("POST", "/consumers/hers", {}),
        ):
            answer = alice.request(method, where, json=body)
            assert answer.status_code == 403, (method, where, answer.text)
        assert alice.get("/topics").json() == []
        assert alice.get(path).json()["data"] == []
    assert list(secured.topics()) == ["mine"]
    assert not secured.records("mine")
