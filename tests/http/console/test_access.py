"""ACLs, users and quotas, changed in the console: shown first, and then as Kafka has them."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from kafkapy.http.app import make_app
from kafkapy.http.kafka.client import Kafka
from kafkapy.kraft.acls import Operation
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.http.console.filling import OWN
from tests.http.console.test_groups import SECURED
from tests.http.pages import site_of, with_kafka

_GRANT = {
    "principal": "User:alice",
    "resource": "TOPIC",
    "name": "shop.",
    "pattern": "PREFIXED",
    "permission": "ALLOW",
    "host": "",
    "operation": ["READ", "WRITE"],
}


@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with Broker(SECURED) as started:
        yield started


@pytest.fixture
def pages(secured: Broker) -> Iterator[TestClient]:
    app = make_app(site_of(secured))
    with TestClient(app, "http://127.0.0.1", backend="trio", headers=OWN) as client:
        yield client


def _acls(broker: Broker) -> list[tuple[str, str, int]]:
    async def work(kafka: Kafka) -> Any:
        return await kafka.ask(
            ApiKey.DESCRIBE_ACLS,
            {
                "resource_type_filter": 1,
                "resource_name_filter": None,
                "pattern_type_filter": 1,
                "principal_filter": None,
                "host_filter": None,
                "operation": 1,
                "permission_type": 1,
            },
        )

    answer = with_kafka(broker, work)
    return sorted(
        (one.principal, each.resource_name, int(one.operation))
        for each in answer.resources
        for one in each.acls
    )


def test_an_acl_is_shown_then_added_then_removed(secured: Broker, pages: TestClient) -> None:
    for name in ("shop.orders", "shop.carts", "stock"):
        secured.create_topic(name)
    shown = pages.get("/console/acls/add", params=_GRANT).text
    assert "What would be added" in shown
    assert "whose name begins with <code>shop.</code>" in shown
    assert "(2): " in shown
    assert "shop.carts, shop.orders" in shown
    assert _acls(secured) == [], "nothing is done before it is confirmed"
    added = pages.post("/console/acls/add", data=_GRANT)
    assert "It is added" in added.text
    assert _acls(secured) == [
        ("User:alice", "shop.", Operation.READ),
        ("User:alice", "shop.", Operation.WRITE),
    ]
    one = {**_GRANT, "operation": "WRITE", "host": "*"}
    assert "Remove it" in pages.get("/console/acls/remove", params=one).text
    assert "It is removed" in pages.post("/console/acls/remove", data=one).text
    assert _acls(secured) == [("User:alice", "shop.", Operation.READ)]
    assert pages.post("/console/acls/remove", data=one).status_code == 404


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"principal": "alice"}, "a principal is written User:name"),
        ({"name": ""}, "a name, or a part of one"),
        ({"operation": "FLY"}, "FLY: it is one of"),
        ({"resource": "MOON"}, "MOON: it is one of"),
    ],
)
def test_an_acl_that_says_nothing_useful_is_not_added(
    pages: TestClient, wrong: dict[str, str], said: str
) -> None:
    assert said in pages.get("/console/acls/add", params={**_GRANT, **wrong}).text
    assert pages.post("/console/acls/add", data={**_GRANT, **wrong}).status_code == 400


def test_a_user_is_added_given_another_password_and_removed(pages: TestClient) -> None:
    user = {"user": "bob", "mechanism": "SCRAM-SHA-256", "password": "secret", "again": "secret"}
    assert "came without TLS" in pages.get("/console/users/add").text
    differs = pages.post("/console/users/add", data={**user, "again": "other"})
    assert "these are two passwords" in differs.text
    assert "no credentials" in pages.get("/console/users").text
    added = pages.post("/console/users/add", data={**user, "iterations": "8192"})
    assert "The password is set" in added.text
    assert "8,192" in added.text
    assert "secret" not in added.text
    again = pages.post("/console/users/add", data=user)
    assert "4,096" in again.text
    few = pages.post("/console/users/add", data={**user, "iterations": "1"})
    assert few.status_code == 400
    gone = {"user": "bob", "mechanism": "SCRAM-SHA-256"}
    assert "cannot log in by" in pages.get("/console/users/remove", params=gone).text
    assert "no credentials" in pages.post("/console/users/remove", data=gone).text


def test_a_quota_is_shown_then_set_then_taken_away(pages: TestClient) -> None:
    whose = {"user-is": "name", "user": "carol", "client-id-is": "default"}
    form = pages.get("/console/quotas/change", params=whose).text
    assert "producer_byte_rate" in form
    assert "connection_creation_rate" not in form
    wanted = {**whose, "producer_byte_rate": "1,000,000"}
    shown = pages.get("/console/quotas/change", params={**wanted, "preview": "1"}).text
    assert "1,000,000" in shown
    assert "no limit" in shown
    assert "no quotas" in pages.get("/console/quotas").text
    done = pages.post("/console/quotas/change", data=wanted).text
    assert "client-id (default), user carol" in done
    assert "1,000,000" in done
    wider = pages.get("/console/quotas/change", params={"user-is": "name", "user": "carol"}).text
    assert 'name="producer_byte_rate" inputmode="decimal" autocomplete="off" value=""' in wider
    assert "no quotas" in pages.post("/console/quotas/change", data=whose).text


@pytest.mark.parametrize(
    ("whose", "said"),
    [
        ({"user-is": "name"}, "which user?"),
        ({"user-is": "default", "ip-is": "default"}, "an address has quotas of its own"),
        ({"user-is": "default", "preview": "1", "producer_byte_rate": "much"}, "is a number"),
        ({"user-is": "default", "preview": "1", "producer_byte_rate": "-1"}, "is above 0"),
    ],
)
def test_a_quota_that_says_nothing_useful_is_not_set(
    pages: TestClient, whose: dict[str, str], said: str
) -> None:
    assert said in pages.get("/console/quotas/change", params=whose).text
    assert pages.post("/console/quotas/change", data=whose).status_code == 400
    assert "no quotas" in pages.get("/console/quotas").text
