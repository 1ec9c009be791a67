"""Who may do what with which subject: by the ACLs of the topic that it is of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.http.kafka.client import Kafka
from kafkapy.http.registry.access import topic_of
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD, SETTINGS
from tests.http.pages import HTTP, client_of, with_kafka

SASL = {
    **SETTINGS,
    **HTTP,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:broker",
}
LITERAL, ALLOW = 3, 3
SCHEMA = {"schema": '"string"'}


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(SASL) as broker:
        yield broker


@pytest.fixture(scope="module")
def boss(secured: Broker) -> Iterator[httpx.Client]:
    with client_of(secured, auth=("broker", "its-secret")) as client:
        yield client


@pytest.fixture(scope="module")
def alice(secured: Broker) -> Iterator[httpx.Client]:
    with client_of(secured, auth=("alice", PASSWORD)) as client:
        yield client


def grant(broker: Broker, operation: Operation, kind: ResourceType, name: str) -> None:
    row = {
        "resource_type": int(kind),
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": int(operation),
        "permission_type": ALLOW,
    }

    async def work(kafka: Kafka) -> Any:
        return await kafka.ask(ApiKey.CREATE_ACLS, {"creations": [row]})

    assert not with_kafka(broker, work, "User:broker").results[0].error_code


def code_of(answer: httpx.Response) -> tuple[int, int | None]:
    said = answer.json()
    return answer.status_code, said.get("error_code") if isinstance(said, dict) else None


DENIED = 403, 40301


def test_rights_on_a_topic_are_rights_on_its_subjects(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """Nothing is granted, then one right after the other; other topics' subjects stay hidden."""
    hidden = boss.post("/subjects/hidden-value/versions", json={"schema": '"bytes"'}).json()["id"]
    path = "/subjects/orders-value/versions"
    assert code_of(alice.post(path, json=SCHEMA)) == DENIED
    grant(secured, Operation.WRITE, ResourceType.TOPIC, "orders")
    written = alice.post(path, json=SCHEMA)
    assert written.status_code == 200
    # WRITE implies DESCRIBE, as in Kafka.
    assert alice.get("/subjects").json() == ["orders-value"]
    assert boss.get("/subjects").json() == ["hidden-value", "orders-value"]
    assert alice.get(f"/schemas/ids/{written.json()['id']}").json()["schema"] == '"string"'
    assert code_of(alice.get(f"/schemas/ids/{hidden}")) == DENIED
    assert code_of(alice.get("/subjects/hidden-value/versions")) == DENIED
    assert code_of(alice.post("/subjects/hidden-value", json=SCHEMA)) == DENIED
    assert code_of(alice.post(f"/compatibility{path}/latest", json=SCHEMA))[0] == 200
    assert alice.get("/schemas").json()[0]["subject"] == "orders-value"
    assert code_of(alice.delete("/subjects/orders-value")) == DENIED
    grant(secured, Operation.DELETE, ResourceType.TOPIC, "orders")
    assert alice.delete("/subjects/orders-value").json() == [1]


def test_what_holds_for_all_is_a_right_on_the_cluster(secured: Broker, alice: httpx.Client) -> None:
    level = {"compatibility": "FULL"}
    for method, path, body in (
        ("GET", "/config", None),
        ("PUT", "/config", level),
        ("GET", "/mode/:.c:", None),
        ("PUT", "/mode", {"mode": "READONLY"}),
        ("GET", "/contexts", None),
        ("DELETE", "/contexts/.c", None),
        ("PUT", "/config/orders-value", level),
    ):
        assert code_of(alice.request(method, path, json=body)) == DENIED, path
    grant(secured, Operation.ALTER_CONFIGS, ResourceType.CLUSTER, CLUSTER_NAME)
    assert alice.put("/config", json={"compatibility": "FULL"}).status_code == 200
    assert alice.get("/config").json() == {"compatibilityLevel": "FULL"}
    grant(secured, Operation.ALTER_CONFIGS, ResourceType.TOPIC, "orders")
    assert alice.put("/config/orders-value", json={"compatibility": "NONE"}).status_code == 200


def test_who_is_nobody_is_asked_who_it_is(secured: Broker) -> None:
    with client_of(secured) as nobody:
        assert nobody.get("/subjects").status_code == 401


@pytest.mark.parametrize(
    ("subject", "topic"),
    [
        ("orders-value", "orders"),
        ("orders-key", "orders"),
        ("shop.Order", "shop.Order"),
        ("-value", "-value"),
        (":.staging:orders-value", ":.staging:orders"),
    ],
)
def test_a_subject_is_of_a_topic(subject: str, topic: str) -> None:
    assert topic_of(subject) == topic
