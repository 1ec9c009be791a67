"""A POST that is repeated with its Idempotency-Key: written once, answered alike."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2 as httpx
import pytest
import trio
from starlette.testclient import TestClient

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.once.topic import KeyTopic
from kafkapy.testing import Broker, Cluster
from tests.http.pages import HTTP, client_of

Client = httpx.Client | TestClient


def post(http: Client, topic: str, key: str, body: Any) -> Any:
    path = f"/api/v1/topics/{topic}/messages"
    return http.post(path, json=body, headers={"Idempotency-Key": key})


def test_a_repeated_request_is_answered_alike_and_writes_once(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("alike", partitions=3)
    body = {"messages": [{"value": n} for n in range(7)] + [{"key": "k", "value": "keyed"}]}
    first = post(over_http, "alike", "a", body)
    again = post(over_http, "alike", "a", body)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json()
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert len(broker.records("alike")) == 8
    other = post(over_http, "alike", "b", body)
    assert len(broker.records("alike")) == 16
    assert other.json() != first.json()


def test_producers_are_used_again_by_later_keys(broker: Broker, over_http: httpx.Client) -> None:
    """Sequences go on where the last request left them, in each partition."""
    broker.create_topic("sequences", partitions=2)
    for n in range(12):
        body = {"messages": [{"value": n}] * (n % 3 + 1)}
        answer = post(over_http, "sequences", f"s{n}", body)
        assert answer.status_code == 200, answer.text
        assert post(over_http, "sequences", f"s{n}", body).json() == answer.json()
    assert len(broker.records("sequences")) == 24


def test_a_key_stands_for_one_request(broker: Broker, over_http: httpx.Client) -> None:
    for topic in ("stands-1", "stands-2"):
        broker.create_topic(topic, partitions=1)
    assert post(over_http, "stands-1", "one", {"value": 1}).status_code == 200
    for topic, value in (("stands-1", 2), ("stands-2", 1)):
        answer = post(over_http, topic, "one", {"value": value})
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
    assert post(over_http, "stands-1", "x" * 256, {"value": 1}).status_code == 400
    assert len(broker.records("stands-1")) == 1
    assert not broker.records("stands-2")


@pytest.mark.parametrize("when", ["before it is written", "before it is known to be written"])
def test_an_attempt_that_ended_on_the_way_is_gone_on_with(
    broker: Broker, pages: TestClient, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    topic = when.replace(" ", "-")
    broker.create_topic(topic, partitions=2)
    write, body = KeyTopic.write, {"messages": [{"value": "a"}, {"value": "b"}, {"value": "c"}]}

    async def only_claims(self: KeyTopic, kafka: Any, slot: bytes, claim: Any, now: int) -> int:
        if claim.written is not None:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        offset = await write(self, kafka, slot, claim, now)
        if when == "before it is written":
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        return offset

    with monkeypatch.context() as patched:
        patched.setattr(KeyTopic, "write", only_claims)
        first = post(pages, topic, when, body)
    with client_of(broker) as other:
        # Not of the same site: as another node, it knows what is in the topic.
        again = post(other, topic, when, body)
    assert again.status_code == 200, again.text
    if when == "before it is written":
        assert first.status_code == 504
    else:
        assert first.json() == again.json()
    assert sorted(str(one.value) for one in broker.records(topic)) == ["b'a'", "b'b'", "b'c'"]
    assert post(pages, topic, when, body).json() == again.json()


def test_another_node_is_done_with_a_claim_before_its_claimer_has_read_it(
    broker: Broker, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claimer writes nothing, so its producer's next sequences are not those it thinks."""
    broker.create_topic("overtaken", partitions=1)
    write, others = KeyTopic.write, []

    def ask_another(body: Any) -> None:
        with client_of(broker) as other:
            others.append(post(other, "overtaken", "o1", body))

    async def overtaken(self: KeyTopic, kafka: Any, slot: bytes, claim: Any, now: int) -> int:
        offset = await write(self, kafka, slot, claim, now)
        if not others:
            others.append(None)
            await trio.to_thread.run_sync(ask_another, {"value": "first"})
        return offset

    with monkeypatch.context() as patched:
        patched.setattr(KeyTopic, "write", overtaken)
        first = post(pages, "overtaken", "o1", {"value": "first"})
    assert first.status_code == 200
    assert first.json() == others[1].json()
    for n in range(3):
        assert post(pages, "overtaken", f"o2{n}", {"value": f"next {n}"}).status_code == 200
    values = [one.value for one in broker.records("overtaken")]
    assert values == [b"first", b"next 0", b"next 1", b"next 2"]


def test_a_node_is_late_with_a_claim_whose_producer_has_gone_on(
    broker: Broker, pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The partition has forgotten that batch; the topic of keys knows where it is."""
    broker.create_topic("late", partitions=1)
    write, find, others = KeyTopic.write, KeyTopic.find, []

    async def only_claims(self: KeyTopic, kafka: Any, slot: bytes, claim: Any, now: int) -> int:
        if claim.written is None:
            # What another node has read of it, before it is done here.
            others.append(claim)
        return await write(self, kafka, slot, claim, now)

    with monkeypatch.context() as patched:
        patched.setattr(KeyTopic, "write", only_claims)
        first = post(pages, "late", "l", {"value": "first"})
        for n in range(8):
            assert post(pages, "late", f"l{n}", {"value": f"next {n}"}).status_code == 200
    assert len({one.producer for one in others}) == 1

    async def read_long_ago(self: KeyTopic, kafka: Any, slot: bytes, now: int) -> Any:
        return others.pop() if len(others) == 1 else await find(self, kafka, slot, now)

    del others[1:]
    with monkeypatch.context() as patched:
        patched.setattr(KeyTopic, "find", read_long_ago)
        again = post(pages, "late", "l", {"value": "first"})
    assert not others
    assert again.status_code == 200, again.text
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(broker.records("late")) == 9


def test_what_was_refused_is_written_when_it_is_repeated(
    broker: Broker, over_http: httpx.Client
) -> None:
    """One partition's batch is too large; the other's is written the first time, and only then."""
    broker.create_topic("part", partitions=2, config={"max.message.bytes": "1000"})
    large = {"partition": 0, "value": "x" * 2000}
    body = {"messages": [large, {"partition": 1, "value": "small"}]}
    first = post(over_http, "part", "p", body)
    assert first.status_code == 207, first.text
    assert [row.get("status", 200) for row in first.json()["messages"]] == [413, 200]
    again = post(over_http, "part", "p", body)
    assert again.json() == first.json()
    assert len(broker.records("part")) == 1


def avro(*fields: str) -> dict[str, str]:
    rows = [{"name": name, "type": "long"} for name in fields]
    schema = {"type": "record", "name": "Order", "fields": rows}
    return {"schemaType": "AVRO", "schema": json.dumps(schema)}


def evolve(http: Client, topic: str) -> None:
    """From now on `latest` takes no order without a price."""
    subject = f"{topic}-value"
    assert http.put(f"/config/{subject}", json={"compatibility": "NONE"}).status_code == 200
    answer = http.post(f"/subjects/{subject}/versions", json=avro("id", "price"))
    assert answer.status_code == 200, answer.text
    refused = http.post(
        f"/api/v1/topics/{topic}/messages", json={"value": {"id": 1}, "valueSchema": "latest"}
    )
    assert refused.status_code == 422


def test_what_was_written_is_answered_though_latest_is_another_schema_now(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("evolved")
    assert post(over_http, "evolved", "e0", order(avro("id"))).status_code == 200
    first = post(over_http, "evolved", "e1", order("latest"))
    assert first.status_code == 200, first.text
    evolve(over_http, "evolved")
    again = post(over_http, "evolved", "e1", order("latest"))
    assert (again.status_code, again.json()) == (200, first.json())
    assert again.headers["idempotency-replayed"] == "true"
    assert over_http.delete("/api/v1/topics/evolved").status_code == 204
    assert post(over_http, "evolved", "e1", order("latest")).json() == first.json()


def order(schema: Any) -> Any:
    return {"messages": [{"value": {"id": 7}, "timestamp": 5}], "valueSchema": schema}


def test_what_was_begun_is_written_with_the_schemas_that_were_chosen_then(
    broker: Broker, over_http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is claimed, and no more; `latest` becomes another schema; it is asked again."""
    broker.create_topic("begun")
    assert post(over_http, "begun", "b0", order(avro("id"))).status_code == 200
    write = KeyTopic.write

    async def only_claims(self: KeyTopic, kafka: Any, slot: bytes, claim: Any, now: int) -> int:
        await write(self, kafka, slot, claim, now)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    with monkeypatch.context() as patched:
        patched.setattr(KeyTopic, "write", only_claims)
        assert post(over_http, "begun", "b1", order("latest")).status_code == 504
    assert len(broker.records("begun")) == 1
    evolve(over_http, "begun")
    again = post(over_http, "begun", "b1", order("latest"))
    assert again.status_code == 200, again.text
    first, second = broker.records("begun")
    assert first.value == second.value


def test_all_nodes_are_asked_the_same_at_once_and_again_after_a_death() -> None:
    """Each key is sent to three nodes at the same time: it is written once, and all say where.
    Then a node is killed: another says the same, and so does it when it is back."""
    with Cluster(3, settings=HTTP) as cluster:
        cluster.create_topic("raced", partitions=3)
        bodies = {
            f"k{n}": {"messages": [{"value": f"{n}.{m}"} for m in range(4)]} for n in range(8)
        }

        def ask(node: int, key: str) -> Any:
            with client_of(cluster.node(node)) as http:
                answer = post(http, "raced", key, bodies[key])
            assert answer.status_code == 200, answer.text
            return answer.json()

        asked = [(node, key) for key in bodies for node in (1, 2, 3)]
        with ThreadPoolExecutor(6) as pool:
            told = dict(zip(asked, pool.map(lambda one: ask(*one), asked), strict=True))
        for key in bodies:
            assert told[1, key] == told[2, key] == told[3, key]
        dead = cluster.leader("raced")
        cluster.kill(dead)
        left = [node for node in (1, 2, 3) if node != dead]
        for key in bodies:
            assert ask(left[0], key) == told[1, key]
        cluster.start(dead)
        for key in bodies:
            assert ask(dead, key) == told[1, key]
        records = cluster.node(left[1]).records("raced")
        assert len(records) == len({record.value for record in records}) == 32
