"""What schemas refer to, where values and drafts are looked at: by who may read all of it alone."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD
from tests.http.pages import client_of, grant
from tests.http.registry.test_access import SASL, holder, registered, secret

JEWEL = {"held": {"jewel": 7}}
HELD = {"name": "held", "type": {"type": "enum", "name": "R", "symbols": ["jewel"]}}


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    """Alice may do what she likes with her topic, of which somebody else made the schema."""
    settings = {**SASL, "super.users": "User:broker;User:ANONYMOUS"}
    with Broker(settings) as broker, client_of(broker, auth=("broker", "its-secret")) as boss:
        broker.create_topic("hers")
        registered(boss, "vault-value", secret("jewel"))
        registered(boss, "hers-value", holder("vault-value"))
        for operation in (Operation.WRITE, Operation.READ):
            grant(broker, operation, ResourceType.TOPIC, "hers")
        yield broker


@pytest.fixture(scope="module")
def boss(secured: Broker) -> Iterator[httpx.Client]:
    yield from _browser(secured, "broker", "its-secret")


@pytest.fixture(scope="module")
def alice(secured: Broker) -> Iterator[httpx.Client]:
    yield from _browser(secured, "alice", PASSWORD)


def _browser(broker: Broker, user: str, password: str) -> Iterator[httpx.Client]:
    own = {"origin": broker.http}
    with client_of(broker, auth=(user, password), headers=own, follow_redirects=True) as client:
        yield client


def _draft(http: httpx.Client, where: str, subject: str, schema: dict[str, Any]) -> httpx.Response:
    fields = {"subject": subject, "type": "AVRO", "schema": schema["schema"]}
    lines = [f"{one['name']} {one['subject']} {one['version']}" for one in schema["references"]]
    return http.post(f"/console/schema/{where}", data={**fields, "references": "\n".join(lines)})


def _produce(http: httpx.Client, topic: str, value: Any, schema: Any) -> httpx.Response:
    body = {"value": value, "valueSchema": schema}
    return http.post(f"/api/v1/topics/{topic}/messages", json=body)


def _read(http: httpx.Client, topic: str) -> list[dict[str, Any]]:
    path = f"/api/v1/topics/{topic}/partitions/0/messages"
    found: list[dict[str, Any]] = http.get(path, params={"as": "schema"}).json()["messages"]
    return found


def test_a_draft_with_references_is_for_who_may_read_them(
    boss: httpx.Client, alice: httpx.Client
) -> None:
    holds = holder("vault-value")
    assert "That is version 1 already" in _draft(boss, "check", "hers-value", holds).text
    made = _draft(boss, "register", "drafted-value", holds)
    assert "The schema is registered" in made.text
    for where in ("check", "register"):
        answer = _draft(alice, where, "hers-value", holds)
        assert answer.status_code == 403
        assert "DESCRIBE on Subject: vault-value" in answer.text


def test_a_value_by_a_schema_with_references_is_written_and_read_by_who_may_read_them(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    registering = {"schemaType": "AVRO", **holder("vault-value")}
    for schema in (registering, "latest", {"subject": "hers-value", "version": 1}):
        answer = _produce(boss, "hers", JEWEL, schema)
        assert answer.status_code == 200, answer.text
        answer = _produce(alice, "hers", {"held": {}}, schema)
        assert answer.status_code == 403
        assert "jewel" not in answer.text
    assert {str(one["value"]) for one in _read(boss, "hers")} == {str(JEWEL)}
    for one in _read(alice, "hers"):
        assert "DESCRIBE on Subject: vault-value" in one["valueError"]
        assert "jewel" not in str(one)
    # A file of the console's, and its pages, show no more.
    whole = alice.get("/console/topics/hers/messages.jsonl")
    assert "jewel" not in whole.text + alice.get("/console/topics/hers/messages/0/0").text
    assert "jewel" in boss.get("/console/topics/hers/messages/0/0").text


def test_the_id_of_a_hidden_schema_in_a_topic_of_ones_own_shows_nothing_of_it(
    secured: Broker, boss: httpx.Client, alice: httpx.Client
) -> None:
    """She writes a number behind an id, and has it read."""
    secured.create_topic("alices")
    for operation in (Operation.WRITE, Operation.READ):
        grant(secured, operation, ResourceType.TOPIC, "alices")
    schema_id = boss.get("/subjects/vault-value/versions/1").json()["id"]
    refused = _produce(alice, "alices", {"jewel": 7}, schema_id)
    assert refused.status_code == 403
    assert "vault" not in refused.text
    secured.produce("alices", b"\0" + schema_id.to_bytes(4) + b"\x0e")
    assert _read(boss, "alices")[0]["value"] == {"jewel": 7}
    [told] = _read(alice, "alices")
    assert "User is denied" in told["valueError"]
    assert "jewel" not in str(told)
    assert "vault" not in str(told)


def test_versions_beside_each_other_do_not_show_what_they_refer_to(
    boss: httpx.Client, alice: httpx.Client
) -> None:
    level = {"subject": "hers-value", "level": "NONE"}
    assert boss.post("/console/schema/level", data=level).status_code == 200
    other = {"type": "record", "name": "Holder", "fields": [HELD]}
    registered(boss, "hers-value", {"schema": json.dumps(other)})
    path = "/console/schema/diff?subject=hers-value&from=1&to=2"
    assert "type mismatch at path" in boss.get(path).text
    shown = alice.get(path).text
    assert "in what one of them refers to, which you may not read" in shown
    assert "type mismatch at path" not in shown
