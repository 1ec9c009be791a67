"""Whatever page an administrator looks at, no secret is on it: each is looked for on all pages."""

import re
from base64 import b64encode
from typing import Final

import httpx2 as httpx
from starlette.routing import Route

from kafkapy.http.rooms import all_routes
from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD, SETTINGS
from tests.http.entrance.test_login import add_carol
from tests.http.pages import HTTP, client_of, site_of, with_kafka

ADMIN: Final = ("broker", "its-secret")
CAROLS: Final = "her secret: ü"
GUESSED: Final = "a-guessed-password"
# What stands for something in a path; others are "1".
_NAMED: Final = {"topic": "orders", "group": "readers", "name": "cleanup.policy"}
# They end when whoever reads hangs up.
_ENDLESS: Final = ("/stream", "/tail")


def paths(broker: Broker) -> list[str]:
    """Of everything that is got."""
    found = []
    for route in all_routes(site_of(broker)):
        if not isinstance(route, Route) or "GET" not in (route.methods or ()):
            continue
        if not route.path.endswith(_ENDLESS):
            found.append(re.sub(r"\{(\w+)[^}]*\}", _filled, route.path))
    return found


def _filled(found: re.Match[str]) -> str:
    return _NAMED.get(found[1], "1")


def secrets_of(broker: Broker) -> dict[str, str]:
    """By what they are."""
    told = {"alice's": PASSWORD, "the node's": ADMIN[1], "carol's": CAROLS, "guessed": GUESSED}
    for record in broker._call(lambda role: list(role.image.scram.values())):
        for bytes_ in (record.stored_key, record.server_key):
            told[f"what proves {record.name}: {bytes_.hex()}"] = b64encode(bytes_).decode()
    return told


def test_no_page_tells_a_secret() -> None:
    with Broker({**SETTINGS, **HTTP}) as broker, client_of(broker) as client:
        with_kafka(broker, add_carol, "User:broker")
        broker.create_topic("orders")
        assert client.get("/metrics", auth=("alice", GUESSED)).status_code == 401
        answers = {path: client.get(path, auth=ADMIN) for path in paths(broker)}
        secrets = secrets_of(broker)
    assert len(secrets) > 4, "carol's credentials are known"
    shown = [path for path, answer in answers.items() if answer.status_code == httpx.codes.OK]
    assert {"/metrics", "/console/users", "/console/logs", "/api/v1/topics"} <= set(shown)
    assert "carol" in answers["/console/users"].text
    for path, answer in answers.items():
        assert answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, path
        everything = f"{answer.text}{answer.headers}"
        assert [name for name, secret in secrets.items() if secret in everything] == [], path
