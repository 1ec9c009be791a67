"""Settings of brokers and groups in the console: who says what, and changed by whom."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from kafkapy.http.app import make_app
from kafkapy.http.console.settings import hint
from kafkapy.kraft.acls import CLUSTER_NAME
from kafkapy.testing import Broker, Cluster
from tests.http.console.filling import OWN
from tests.http.console.test_groups import SECURED
from tests.http.pages import HTTP, client_of, site_of

_THREADS = "/console/brokers/1/settings/log.cleaner.threads"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({**HTTP, "log.retention.hours": "48"}) as started:
        yield started


def _layers(text: str) -> list[str]:
    """Of a setting's page: who says something, the first of them in force."""
    rows = text.split("<tbody>")[1].split("</tbody>")[0].split("<tr>")[1:]
    return [row.split("<td>")[1].split("<")[0].strip() for row in rows]


def test_a_setting_of_a_broker_says_who_set_it(pages: TestClient) -> None:
    text = pages.get("/console/brokers/1").text
    assert 'href="/console/brokers/1/settings/log.retention.hours"' in text
    own = pages.get("/console/brokers/1/settings/log.retention.hours").text
    assert _layers(own) == ["the broker’s file", "default"]  # noqa: RUF001 - as pages write it
    assert "in force" in own
    assert "A broker reads it when it starts" in own
    assert "<form method" not in own
    assert pages.get("/console/brokers/1/settings/no.such").status_code == 404
    assert pages.get("/console/brokers/9/settings/log.cleaner.threads").status_code == 404


def test_a_setting_is_set_for_one_broker_and_for_all_and_taken_away(pages: TestClient) -> None:
    assert _layers(pages.get(_THREADS).text) == ["default"]
    for_all = pages.post(_THREADS, data={"value": "2", "scope": "all"}, headers=OWN)
    assert "The setting is changed" in for_all.text, for_all.text
    assert _layers(pages.get(_THREADS).text) == ["all brokers", "default"]
    pages.post(_THREADS, data={"value": "1", "scope": "broker"}, headers=OWN)
    text = pages.get(_THREADS).text
    assert _layers(text) == ["this broker", "all brokers", "default"]
    assert "Take it away from this broker" in text
    pages.post(_THREADS, data={"value": "1", "default": "broker"}, headers=OWN)
    assert _layers(pages.get(_THREADS).text) == ["all brokers", "default"]
    pages.post(_THREADS, data={"value": "1", "default": "all"}, headers=OWN)
    assert _layers(pages.get(_THREADS).text) == ["default"]


def test_what_kafka_does_not_take_is_refused_in_its_words(pages: TestClient) -> None:
    wild = pages.post(_THREADS, data={"value": "1000", "scope": "broker"}, headers=OWN)
    assert wild.status_code == 400
    assert "should not be greater than double the current value" in wild.text
    assert "Your browser’s Back has the form" in wild.text  # noqa: RUF001 - as above
    static = "/console/brokers/1/settings/node.id"
    answer = pages.post(static, data={"value": "7", "scope": "broker"}, headers=OWN)
    assert answer.status_code == 400
    assert "Cannot update these configs dynamically" in answer.text
    assert pages.post(_THREADS, data={"value": "2"}).status_code == 403, "a form of elsewhere"
    assert _layers(pages.get(_THREADS).text) == ["default"]


def test_what_is_for_one_broker_at_a_time_offers_nothing_else(pages: TestClient) -> None:
    text = pages.get("/console/brokers/1/settings/ssl.keystore.location").text
    assert "all brokers" not in text
    assert "one broker at a time" in text
    assert '<option value="all">all brokers</option>' in pages.get(_THREADS).text


def test_a_secret_is_never_told(pages: TestClient) -> None:
    text = pages.get("/console/brokers/1/settings/ssl.keystore.password").text
    assert 'type="password"' in text
    assert " value=" not in text.split('id="value"')[1].split(">")[0]


def test_a_group_has_settings_before_it_has_members(pages: TestClient) -> None:
    where = {"name": "to/come & go", "key": "share.auto.offset.reset"}
    assert "Nothing is set" in pages.get("/console/group/settings", params=where).text
    done = pages.post(
        "/console/group/setting", params=where, data={"value": "earliest"}, headers=OWN
    )
    assert "The setting is changed" in done.text, done.text
    assert "to/come &amp; go" in done.text
    assert _layers(pages.get("/console/group/setting", params=where).text)[0] == "this group"
    back = pages.post("/console/group/setting", params=where, data={"default": "1"}, headers=OWN)
    assert "Nothing is set" in back.text
    flag = {"name": "x", "key": "share.renew.acknowledge.enable"}
    assert '<select id="value"' in pages.get("/console/group/setting", params=flag).text


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("retention.ms", "604800000", "7.0 d"),
        ("segment.bytes", "1073741824", "1.0 GiB"),
        ("retention.ms", "-1", ""),
        ("retention.ms", None, ""),
        ("flush.messages", "9223372036854775807", ""),
        ("flush.ms", "9223372036854775807", ""),
        ("num.partitions", "5000", ""),
    ],
)
def test_long_numbers_are_said_shortly(name: str, value: str | None, said: str) -> None:
    assert hint(name, value) == said


def test_another_broker_is_set_from_here() -> None:
    """Node 2 is asked: it knows its own file."""
    with Cluster(2, settings=SECURED) as cluster:
        where = "/console/brokers/2/settings/log.cleaner.threads"
        with client_of(cluster.node(1), headers={"origin": cluster.node(1).http}) as pages:
            done = pages.post(where, data={"value": "2"}, follow_redirects=True)
            assert "The setting is changed" in done.text, done.text
            assert _layers(pages.get(where).text) == ["this broker", "default"]
            other = pages.get(where.replace("brokers/2", "brokers/1"))
            assert _layers(other.text) == ["default"]


def test_who_may_not_change_another_broker_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be asked under this node's name: who may not is refused before."""
    monkeypatch.setattr("kafkapy.http.site.principal_of", lambda _: "User:mallory")
    monkeypatch.setattr("kafkapy.http.console.asked.principal_of", lambda _: "User:mallory")
    with Cluster(2, settings=SECURED) as cluster:
        site = site_of(cluster.node(1))
        with TestClient(make_app(site), "http://127.0.0.1", backend="trio", headers=OWN) as pages:
            for broker in (1, 2):
                where = f"/console/brokers/{broker}/settings/log.cleaner.threads"
                for answer in (pages.get(where), pages.post(where, data={"value": "2"})):
                    assert answer.status_code == 403
                    assert CLUSTER_NAME in answer.text
        assert not site.link.image.all_configs.get((4, "2"))
