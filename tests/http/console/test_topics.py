"""Topics in the console: found, looked at, made, changed, deleted."""

import json
import re

from starlette.testclient import TestClient

from kafkapy.http.console.rendering import moment, size, span
from kafkapy.testing import Broker
from tests.http.console.filling import OWN, produced


def test_the_overview_names_brokers_and_the_quorum(pages: TestClient, broker: Broker) -> None:
    answer = pages.get("/")
    assert answer.status_code == 200, answer.text
    assert "this node" in answer.text
    assert "leads in epoch" in answer.text
    assert broker.bootstrap.rpartition(":")[2] in answer.text


def test_a_broker_shows_its_directories_and_settings(pages: TestClient, broker: Broker) -> None:
    assert 'href="/console/brokers/1"' in pages.get("/").text
    page = pages.get("/console/brokers/1").text
    assert broker.bootstrap in page
    assert "/tmp/kafkapy-in-memory" in page
    row = page.split('/console/brokers/1/settings/node.id">')[1].split("</tr>")[0]
    assert '<span class="mono">1</span>' in row
    assert "log.retention.hours" not in page
    assert "log.retention.hours" in pages.get("/console/brokers/1?all=1").text
    for nobody in ("2", "x"):
        assert pages.get(f"/console/brokers/{nobody}").status_code == 404


def test_a_list_is_searched_and_paged_by_the_server(pages: TestClient, broker: Broker) -> None:
    for index in range(51):
        broker.create_topic(f"many-{index:02}")
    first = pages.get("/console/topics?q=MANY-").text
    assert "1 to 50 of 51 topics" in first
    assert "many-49" in first
    assert "many-50" not in first
    second = pages.get("/console/topics?q=many-&page=2").text
    assert "many-50" in second
    assert "many-49" not in second
    assert "51 to 51 of 51" in pages.get("/console/topics?q=many-&page=99").text
    assert "no topics" in pages.get("/console/topics?q=nothing-like-it").text


def test_topics_come_in_the_order_that_is_asked_for(pages: TestClient, broker: Broker) -> None:
    for name, count in (("sorted-a", 1), ("sorted-b", 3), ("sorted-c", 2)):
        broker.create_topic(name, partitions=count)

    def names(query: str) -> list[str]:
        text = pages.get(f"/console/topics?q=sorted-{query}").text
        return re.findall(r'class="open" href="/console/topics/(sorted-.)"', text)

    assert names("") == ["sorted-a", "sorted-b", "sorted-c"]
    assert names("&sort=partitions") == ["sorted-b", "sorted-c", "sorted-a"]
    for equal in ("written", "state"):
        assert names(f"&sort={equal}") == ["sorted-a", "sorted-b", "sorted-c"]
    assert 'aria-sort="descending"' in pages.get("/console/topics?sort=state").text
    assert pages.get("/console/topics?sort=luck").status_code == 400


def test_kafkas_own_topics_are_shown_when_asked_for(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("__of_kafka")
    assert "__of_kafka" not in pages.get("/console/topics").text
    assert "__of_kafka" in pages.get("/console/topics?internal=1").text


def test_a_topic_shows_where_its_partitions_are(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("looked-at", partitions=3)
    produced(broker, "looked-at", [b"a", b"b"], partition=1)
    text = pages.get("/console/topics/looked-at").text
    assert "1 to 3 of 3 partitions" in text
    assert "messages?partition=2" in text


def test_a_topic_is_made_changed_and_deleted(pages: TestClient) -> None:
    fields = {"name": "by-hand", "partitions": "2", "replicas": "", "configs": "retention.ms=1000"}
    made = pages.post("/console/create-topic", data=fields, headers=OWN)
    assert made.url.path == "/console/topics/by-hand", made.text
    assert "The topic is created" in made.text
    where = "/console/topics/by-hand/settings"
    assert "1000" in pages.get(where).text
    assert "cleanup.policy" not in pages.get(where).text
    assert "cleanup.policy" in pages.get(f"{where}?all=1").text
    changed = pages.post(f"{where}/retention.ms", data={"value": "2000"}, headers=OWN)
    assert "2000" in changed.text
    back = pages.post(f"{where}/retention.ms", data={"value": "7", "default": "1"}, headers=OWN)
    assert "this topic" in changed.text
    assert "this topic" not in back.text
    grown = pages.post("/console/topics/by-hand/partitions", data={"count": "5"}, headers=OWN)
    assert "1 to 5 of 5 partitions" in grown.text
    wrong = pages.post("/console/topics/by-hand/delete", data={"confirm": "other"}, headers=OWN)
    assert wrong.status_code == 400
    right = pages.post("/console/topics/by-hand/delete", data={"confirm": "by-hand"}, headers=OWN)
    assert "The topic is deleted" in right.text
    assert pages.get("/console/topics/by-hand").status_code == 404


def test_what_kafka_refuses_is_a_page_that_says_why(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("refusing")
    again = pages.post("/console/create-topic", data={"name": "refusing"}, headers=OWN)
    assert again.status_code == 409
    assert "TOPIC_ALREADY_EXISTS" in again.text
    where = "/console/topics/refusing/settings"
    bad = pages.post(f"{where}/retention.ms", data={"value": "soon"}, headers=OWN)
    assert bad.status_code == 400
    assert "INVALID_CONFIG" in bad.text
    assert pages.get(f"{where}/no.such.setting").status_code == 404
    assert pages.get("/console/nothing").status_code == 404
    assert pages.get("/console/topics?page=x").status_code == 400


def test_a_form_of_nobody_knows_where_is_refused(pages: TestClient) -> None:
    fields = {"name": "forged"}
    for headers in ({}, {"origin": "null"}, {"origin": "http://evil.example"}):
        assert pages.post("/console/create-topic", data=fields, headers=headers).status_code == 403
    assert pages.get("/console/topics/forged").status_code == 404


def test_pages_load_nothing_of_others_and_run_nothing_inline(pages: TestClient) -> None:
    answer = pages.get("/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<style" not in answer.text
    assert " style=" not in answer.text
    assert answer.text.count("<script") == answer.text.count('<script type="module" src="/console/')
    assert answer.headers["referrer-policy"] == "same-origin"


def test_files_are_sent_once(pages: TestClient) -> None:
    for name in ("console.css", "console.js", "keys.js", "tail.js", "icon.svg"):
        first = pages.get(f"/console/static/{name}")
        assert first.status_code == 200
        tag = {"if-none-match": first.headers["etag"]}
        assert pages.get(f"/console/static/{name}", headers=tag).status_code == 304
    assert pages.get("/console/static/..%2fasked.py").status_code == 404
    assert json.loads(pages.get("/console/static/none.js").text)["status"] == 404


def test_sizes_and_times_are_written_for_people() -> None:
    assert [size(one) for one in (None, 0, 1023, 1024, 5 * 1024**3)] == [
        "–",  # noqa: RUF001 - what pages show
        "0 B",
        "1023 B",
        "1.0 KiB",
        "5.0 GiB",
    ]
    assert moment(1_763_560_800_001) == "2025-11-19 14:00:00.001"
    assert moment(2**62) == str(2**62)
    assert [span(one) for one in (0, 61_000, 3_600_000, 172_800_000)] == [
        "0.0 s",
        "1.0 min",
        "1.0 h",
        "2.0 d",
    ]
