"""Topics, settings and groups, changed over HTTP."""

from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.testing import Broker
from tests.broker.security.gate import PASSWORD
from tests.http.entrance.test_login import SASL
from tests.http.pages import client_of

TOPICS = "/api/v1/topics"
GROUPS = "/api/v1/consumer-groups"


def test_a_topic_is_made_grown_and_deleted(broker: Broker, over_http: httpx.Client) -> None:
    wanted = {"name": "made", "partitions": 2, "configs": {"retention.ms": 1000}}
    trial = over_http.post(TOPICS, json=wanted, params={"validateOnly": "true"})
    assert trial.status_code == 200
    assert "made" not in broker.topics()
    answer = over_http.post(TOPICS, json=wanted)
    assert (answer.status_code, answer.headers["location"]) == (201, f"{TOPICS}/made")
    assert len(over_http.get(answer.headers["location"]).json()["partitions"]) == 2
    assert over_http.post(TOPICS, json=wanted).status_code == 409
    assert over_http.post(f"{TOPICS}/made/partitions", json={"count": 3}).status_code == 200
    assert over_http.post(f"{TOPICS}/made/partitions", json={"count": 2}).status_code == 400
    assert broker.topics()["made"] == 3
    assert over_http.delete(f"{TOPICS}/made").status_code == 204
    assert over_http.delete(f"{TOPICS}/made").status_code == 404


def test_settings_change_only_as_they_were_seen(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("set")
    path = f"{TOPICS}/set/configs"
    first = over_http.get(path)
    tag = first.headers["etag"]
    assert over_http.get(path, headers={"if-none-match": tag}).status_code == 304
    change = {"retention.ms": 5000, "cleanup.policy": "compact"}
    answer = over_http.patch(path, json=change, headers={"if-match": tag})
    assert answer.status_code == 200, answer.text
    told = over_http.get(path).json()["configs"]
    assert (told["retention.ms"]["value"], told["retention.ms"]["source"]) == ("5000", "topic")
    assert over_http.patch(path, json=change, headers={"if-match": tag}).status_code == 412
    assert over_http.patch(path, json={"retention.ms": None}).status_code == 200
    assert over_http.get(path).json()["configs"]["retention.ms"]["source"] == "default"
    wrong: dict[str, Any]
    for wrong in ({"no.such": 1}, {"retention.ms": "x"}, {"retention.ms": []}, {}):
        assert over_http.patch(path, json=wrong).status_code == 400


def test_offsets_are_set_as_they_were_shown(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("reset", partitions=2)
    many = {"messages": [{"value": n, "partition": 0, "timestamp": 1000 + n} for n in range(5)]}
    assert over_http.post(f"{TOPICS}/reset/messages", json=many).status_code == 200
    path = f"{GROUPS}/g/offsets"
    where = [{"topic": "reset", "partition": 0, "offset": 2}]
    assert over_http.post(path, json={"offsets": where}).status_code == 200

    def after(**body: Any) -> list[tuple[int, int]]:
        answer = over_http.post(f"{path}/reset", json=body, params={"dryRun": "true"})
        assert answer.status_code == 200, answer.text
        return [(row["partition"], row["after"]) for row in answer.json()["offsets"]]

    assert after(to="earliest") == [(0, 0)]
    assert after(to="latest", topics=["reset"]) == [(0, 5), (1, 0)]
    assert after(to="shift", value=-1) == [(0, 1)]
    assert after(to="shift", value=99) == [(0, 5)]
    assert after(to="offset", value=4) == [(0, 4)]
    assert after(to="time", value=1003) == [(0, 3)]
    assert after(to="time", value=9999) == [(0, 5)]
    shown = over_http.post(f"{path}/reset", json={"to": "latest"}, params={"dryRun": "true"})
    tag = {"if-match": shown.headers["etag"]}
    assert broker.lag("g", "reset") == 3
    broker.produce("reset", b"one more", partition=0)
    assert over_http.post(f"{path}/reset", json={"to": "latest"}, headers=tag).status_code == 412
    assert over_http.post(f"{path}/reset", json={"to": "latest"}).status_code == 200
    assert broker.lag("g", "reset") == 0


def test_groups_are_described_and_deleted(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("owned")
    body = {"offsets": [{"topic": "owned", "partition": 0, "offset": 0}]}
    assert over_http.post(f"{GROUPS}/idle/offsets", json=body).status_code == 200
    told = over_http.get(f"{GROUPS}/idle").json()
    assert (told["type"], told["state"], told["members"]) == ("classic", "Empty", [])
    assert over_http.delete(f"{GROUPS}/idle").status_code == 204
    assert over_http.get(f"{GROUPS}/idle").status_code == 404
    assert over_http.delete(f"{GROUPS}/idle").status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (TOPICS, {}, 400),
        (TOPICS, {"name": "bad/name"}, 400),
        (TOPICS, {"name": "x", "partitions": 0}, 400),
        (TOPICS, {"name": "x", "configs": []}, 400),
        (TOPICS, {"name": "x", "partition": 3}, 400),
        (f"{TOPICS}/none/partitions", {"count": 2}, 404),
        (f"{GROUPS}/none/offsets/reset", {"to": "earliest"}, 409),
        (f"{GROUPS}/none/offsets/reset", {"to": "yesterday"}, 400),
        (f"{GROUPS}/none/offsets/reset", {"to": "time", "topics": ["x"]}, 400),
        (f"{GROUPS}/none/offsets/reset", {"to": "latest", "topics": "x"}, 400),
        (f"{GROUPS}/none/offsets/reset", {"to": "latest", "topics": ["x"]}, 404),
    ],
)
def test_what_cannot_be_is_a_problem(
    over_http: httpx.Client, path: str, body: Any, status: int
) -> None:
    answer = over_http.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_lists_come_in_pages_that_join(broker: Broker, over_http: httpx.Client) -> None:
    names = [f"page-{n:02}" for n in range(7)]
    broker.create_topic("page-00")
    body = {"offsets": [{"topic": "page-00", "partition": 0, "offset": 0}]}
    for name in names:
        if name != "page-00":
            broker.create_topic(name)
        assert over_http.post(f"{GROUPS}/{name}/offsets", json=body).status_code == 200
    for path, what in ((TOPICS, "topics"), (GROUPS, "groups")):
        found: list[str] = []
        after: str | None = "page-"
        while after is not None:
            page = over_http.get(path, params={"after": after, "limit": 3}).json()
            found += [one["name"] for one in page[what]]
            after = page.get("next")
        assert [one for one in found if one.startswith("page-")] == names


def test_a_topic_is_told_again_when_it_has_changed(broker: Broker, over_http: httpx.Client) -> None:
    broker.create_topic("tagged")
    tag = over_http.get(f"{TOPICS}/tagged").headers["etag"]
    same = over_http.get(f"{TOPICS}/tagged", headers={"if-none-match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    over_http.post(f"{TOPICS}/tagged/messages", json={"value": 1})
    assert over_http.get(f"{TOPICS}/tagged", headers={"if-none-match": tag}).status_code == 200


@pytest.fixture
def secured() -> Iterator[Broker]:
    with Broker(SASL) as started:
        yield started


def test_whoever_may_not_is_told_so_and_no_key_of_theirs_is_kept(secured: Broker) -> None:
    """alice logs in and has no rights; what she asks is refused by Kafka's ACLs."""
    with client_of(secured, auth=("alice", PASSWORD)) as alice:
        key = {"Idempotency-Key": "hers"}
        for method, path, body, headers in (
            ("POST", TOPICS, {"name": "hers"}, {}),
            ("POST", f"{TOPICS}/mine/partitions", {"count": 9}, {}),
            ("DELETE", f"{TOPICS}/mine", None, {}),
            ("GET", f"{TOPICS}/mine", None, {}),
            ("GET", f"{TOPICS}/mine/configs", None, {}),
            ("PATCH", f"{TOPICS}/mine/configs", {"retention.ms": 1}, {}),
            ("POST", f"{TOPICS}/mine/messages", {"value": 1}, {}),
            ("POST", f"{TOPICS}/mine/messages", {"value": 1}, key),
            ("GET", f"{TOPICS}/mine/partitions/0/messages", None, {}),
            ("GET", f"{GROUPS}/g", None, {}),
            ("DELETE", f"{GROUPS}/g", None, {}),
            ("GET", f"{GROUPS}/g/offsets", None, {}),
            ("POST", f"{GROUPS}/g/offsets/reset", {"to": "latest", "topics": ["mine"]}, {}),
        ):
            if "mine" not in secured.topics():
                secured.create_topic("mine")
            answer = alice.request(method, path, json=body, headers=headers)
            assert answer.status_code == 403, (method, path, answer.text)
        assert alice.get(TOPICS).json() == {"topics": []}
    assert list(secured.topics()) == ["mine"]
