"""Who may not see a topic hears the same whether or not it is there, whichever page is asked."""

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD
from tests.http.entrance.test_login import SASL
from tests.http.pages import client_of, grant, link_of

JSON = "application/vnd.kafka.json.v2+json"
MESSAGE = {"value": 1, "partition": 7}
RECORD = {"value": {"type": "JSON", "data": 1}, "partition_id": 7}
API = "/api/v1/topics/{}"
ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", f"{API}/messages", {"json": {"value": 1}}),
    ("POST", f"{API}/messages", {"json": MESSAGE}),
    ("POST", f"{API}/messages", {"json": MESSAGE, "headers": {"idempotency-key": "k"}}),
    ("GET", API, {}),
    ("GET", f"{API}/configs", {}),
    ("GET", f"{API}/partitions/0/messages", {}),
    ("GET", f"{API}/partitions/0/messages?offset=0", {}),
    ("GET", f"{API}/partitions/7/messages?offset=0", {}),
    ("GET", f"{API}/partitions/0/stream?offset=0", {}),
    ("GET", "/api/v1/consumer-groups/g/stream?topics={}", {}),
    ("GET", "/api/v1/scaling/groups/g?topic={}&reset=earliest", {}),
    ("GET", "/api/v1/dead-letters/{}", {}),
    ("POST", "/v3/clusters/CLUSTER/topics/{}/records", {"json": RECORD}),
    ("POST", "/v3/clusters/CLUSTER/topics/{}/records", {"content": iter([b'{"value": null}'])}),
    ("POST", "/v3/clusters/CLUSTER/topics/{}/records:batch", {"json": {"entries": [RECORD]}}),
    ("GET", "/v3/clusters/CLUSTER/topics/{}", {}),
    (
        "POST",
        "/topics/{}",
        {"json": {"records": [{"value": 1}]}, "headers": {"content-type": JSON}},
    ),
    ("POST", "/topics/{}/partitions/7", {"json": {"records": [{"value": 1}]}}),
    ("GET", "/topics/{}/partitions/0/offsets", {}),
]


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(SASL) as started:
        started.create_topic("there")
        grant(started, Operation.ALL, ResourceType.GROUP, "g")
        yield started


@pytest.fixture
def alice(secured: Broker) -> Iterator[httpx.Client]:
    with client_of(secured, auth=("alice", PASSWORD)) as client:
        yield client


@pytest.mark.parametrize(("method", "path", "more"), ASKED, ids=[f"{a} {b}" for a, b, _ in ASKED])
def test_a_topic_that_one_may_not_see_is_not_told_from_one_that_is_not_there(
    secured: Broker, alice: httpx.Client, method: str, path: str, more: dict[str, Any]
) -> None:
    cluster = link_of(secured).node.cluster_id
    told = []
    for topic in ("there", "none"):
        asked = path.format(topic).replace("CLUSTER", cluster)
        body = {**more, "content": b'{"value": null}'} if "content" in more else more
        answer = alice.request(method, asked, **body)
        told.append((answer.status_code, answer.text.replace(topic, "TOPIC")))
    assert told[0] == told[1]
    assert told[0][0] == 403 or "403" in told[0][1] or "40301" in told[0][1], told


def test_who_may_write_is_told_that_there_is_no_such_topic(
    secured: Broker, alice: httpx.Client
) -> None:
    grant(secured, Operation.WRITE, ResourceType.TOPIC, "not-made")
    answer = alice.post("/api/v1/topics/not-made/messages", json={"value": 1})
    assert answer.status_code == 404
