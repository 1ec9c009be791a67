"""Who may do what with which subject: by the ACLs of the topic that it is of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.http.registry.access import topic_of
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD, SETTINGS
from tests.http.pages import HTTP, client_of, grant

SASL = {
    **SETTINGS,
    **HTTP,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:broker",
}
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


def holder(subject: str, version: int = 1, name: str = "Holder") -> dict[str, Any]:
    """A record with one of what is registered there as R."""
    fields = [{"name": "held", "type": "R"}]
    text = json.dumps({"type": "record", "name": name, "fields": fields})
    references = [{"name": "R", "subject": subject, "version": version}]
    return {"schema": text, "references": references}


def secret(name: str) -> dict[str, Any]:
    fields = [{"name": name, "type": "int"}]
    return {"schema": json.dumps({"type": "record", "name": "R", "fields": fields})}


def registered(http: httpx.Client, subject: str, body: dict[str, Any]) -> int:
    answer = http.post(f"/subjects/{subject}/versions", json=body)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


def test_who_refers_to_a_schema_must_be_allowed_to_read_it(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """Every page that reads what a schema refers to is asked, before and after she is allowed."""
    registered(boss, "vault-value", secret("treasure"))
    grant(secured, Operation.WRITE, ResourceType.TOPIC, "mine")
    mine = holder("vault-value")
    for path in (
        "/subjects/mine-value/versions",
        "/subjects/mine-value",
        "/compatibility/subjects/mine-value/versions",
        "/compatibility/subjects/mine-value/versions/latest",
        "/compatibility/subjects/mine-value/versions/latest?verbose=true",
    ):
        answer = alice.post(path, json=mine)
        assert code_of(answer) == DENIED, path
        assert "DESCRIBE on Subject: vault-value" in answer.text
        # Whether there is such a subject is not told, either.
        assert code_of(alice.post(path, json=holder("vault-value", 7))) == DENIED, path
        assert code_of(alice.post(path, json=holder("nowhere-value"))) == DENIED, path
    assert boss.get("/subjects/vault-value/versions/1/referencedby").json() == []
    grant(secured, Operation.DESCRIBE, ResourceType.TOPIC, "vault")
    registered(alice, "mine-value", mine)
    path = "/subjects/mine-value/versions/1"
    assert "treasure" in alice.get(path, params={"format": "resolved"}).json()["schema"]


def test_what_is_behind_a_reference_is_asked_about_too(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """She may read the one that refers to a hidden one, and no more than its own text."""
    registered(boss, "deep-value", secret("jewel"))
    middle = registered(boss, "middle-value", holder("deep-value", name="M"))
    grant(secured, Operation.DESCRIBE, ResourceType.TOPIC, "middle")
    grant(secured, Operation.WRITE, ResourceType.TOPIC, "outer")
    outer = {
        "schema": '{"type":"record","name":"O","fields":[{"name":"m","type":"M"}]}',
        "references": [{"name": "M", "subject": "middle-value", "version": 1}],
    }
    answer = alice.post("/subjects/outer-value/versions", json=outer)
    assert code_of(answer) == DENIED
    assert "DESCRIBE on Subject: deep-value" in answer.text
    guid = boss.get("/subjects/middle-value/versions/1").json()["guid"]
    for path in (
        "/subjects/middle-value/versions/1",
        "/subjects/middle-value/versions/latest/schema",
        f"/schemas/ids/{middle}",
        f"/schemas/ids/{middle}/schema",
        f"/schemas/guids/{guid}",
    ):
        plain = alice.get(path)
        assert plain.status_code == 200
        assert "jewel" not in plain.text
        resolved = alice.get(path, params={"format": "resolved"})
        assert code_of(resolved) == DENIED, path
        assert "jewel" in boss.get(path, params={"format": "resolved"}).text


def test_what_is_wrong_with_a_schema_does_not_show_what_another_refers_to(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """Her subject has a version of somebody else's that refers to what she may not read."""
    registered(boss, "gem-value", secret("ruby"))
    registered(boss, "hers-value", holder("gem-value", name="H"))
    grant(secured, Operation.WRITE, ResourceType.TOPIC, "hers")
    field = {"name": "held", "type": {"type": "enum", "name": "R", "symbols": ["A"]}}
    other = {"schema": json.dumps({"type": "record", "name": "H", "fields": [field]})}
    path = "/compatibility/subjects/hers-value/versions?verbose=true"
    shown, hidden = boss.post(path, json=other).json(), alice.post(path, json=other).json()
    assert not shown["is_compatible"]
    assert not hidden["is_compatible"]
    assert "TYPE_MISMATCH" in str(shown)
    assert "TYPE_MISMATCH" not in str(hidden)
    assert code_of(alice.post("/subjects/hers-value/versions", json=other)) == (409, 409)


def test_a_namesake_in_another_context_is_another_subject(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """A subject that is not there is looked for in other contexts, where she may not look."""
    body = {"schema": '{"type":"fixed","name":"Ring","size":3}'}
    registered(boss, ":.safe:ring-value", body)
    grant(secured, Operation.DESCRIBE, ResourceType.TOPIC, "ring")
    assert boss.get("/subjects/ring-value/versions/1").json()["subject"] == ":.safe:ring-value"
    assert code_of(alice.get("/subjects/ring-value/versions/1")) == (404, 40401)
    assert code_of(alice.post("/subjects/ring-value", json=body)) == (404, 40401)
    grant(secured, Operation.DESCRIBE, ResourceType.TOPIC, ":.safe:ring")
    assert alice.get("/subjects/ring-value/versions/1").json()["subject"] == ":.safe:ring-value"


def test_what_may_not_be_read_is_not_named(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """By its id, or by what it refers to."""
    grant(secured, Operation.DESCRIBE, ResourceType.TOPIC, "public")
    registered(boss, "public-value", secret("shared"))
    hidden = registered(boss, "cellar-value", holder("public-value", name="Barrel"))
    guid = boss.get("/subjects/cellar-value/versions/1").json()["guid"]
    for path in (f"/schemas/ids/{hidden}", f"/schemas/guids/{guid}"):
        answer = alice.get(path)
        assert code_of(answer) == DENIED
        assert "cellar" not in answer.text
    path = "/subjects/public-value/versions/1/referencedby"
    assert boss.get(path).json() == [hidden]
    assert alice.get(path).json() == []
