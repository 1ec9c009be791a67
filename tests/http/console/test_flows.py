"""Relays and views in the console: what becomes of topics' records."""

import pytest
from starlette.testclient import TestClient

from kafkapy.http.app import make_app
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.http.console.filling import produced
from tests.http.console.test_groups import SECURED
from tests.http.pages import site_of, with_kafka


def _view(broker: Broker, name: str, source: str, where: str) -> None:
    configs = {"kafkapy.view.of": source, "kafkapy.view.where": where}
    rows = [{"name": one, "value": value} for one, value in configs.items()]
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": []}

    async def work(kafka: Kafka) -> None:
        body = {"topics": [{**topic, "configs": rows}], "timeout": 30_000, "validate_only": False}
        answer = await kafka.ask(ApiKey.CREATE_TOPICS, body)
        assert not answer.topics[0].error_code, answer.topics[0].error_message

    with_kafka(broker, work)


def test_a_topic_says_where_its_records_go_and_come_from(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("done")
    broker.create_topic("again.dead")
    config = {
        "kafkapy.relay.to": "done",
        "kafkapy.relay.retry.delays": "5s, 1m",
        "kafkapy.relay.dead.letter.topic": "again.dead",
    }
    broker.create_topic("again", config=config)
    text = pages.get("/console/topics/again").text
    assert "after 5.0 s, then 1.0 min" in text
    assert 'at last to <a class="mono" href="/console/topics/again.dead">' in text
    assert "Records come from" in pages.get("/console/topics/done").text
    assert "those that nobody could do" in pages.get("/console/topics/again.dead").text
    listed = pages.get("/console/relays?q=AGAIN").text
    assert "1 to 1 of 1 relays" in listed
    assert "5.0 s, 1.0 min" in listed
    assert "relays its records" in pages.get("/console/relays?q=nothing-like-it").text


def test_a_view_is_browsed_as_what_it_shows(pages: TestClient, broker: Broker) -> None:
    """Also the first time, when nobody has found out yet what it shows."""
    broker.create_topic("all", partitions=2)
    for partition in range(2):
        values = [b'{"n": %d}' % one for one in range(100)]
        produced(broker, "all", values, partition=partition)
    _view(broker, "few", "all", "value.n = 7 or value.n = 93")
    assert "It is a view of" in pages.get("/console/topics/few").text
    assert "is a view of it" in pages.get("/console/topics/all").text
    assert '<span class="tag">view</span>' in pages.get("/console/topics?q=few").text
    for begin in ("newest", "oldest"):
        text = pages.get(f"/console/topics/few/messages?from={begin}&limit=20").text
        assert "4 shown of 4 looked at" in text
        assert text.count("/console/topics/few/messages/1/7") == 1
    one = pages.get("/console/topics/few/messages/0/93").text
    assert "93" in one
    assert pages.get("/console/topics/few/messages/0/8").status_code == 404
    assert "value.n = 7" in pages.get("/console/relays").text


def test_a_view_that_shows_nothing_comes_to_its_end(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("plenty")
    produced(broker, "plenty", [b"x"] * 50)
    _view(broker, "nothing", "plenty", "value is 'y'")
    for begin in ("newest", "oldest"):
        text = pages.get(f"/console/topics/nothing/messages?from={begin}").text
        assert "No messages here" in text


def test_what_a_topic_does_is_for_who_may_see_its_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kafkapy.http.site.principal_of", lambda _: "User:mallory")
    monkeypatch.setattr("kafkapy.http.console.asked.principal_of", lambda _: "User:mallory")
    with Broker(SECURED) as broker:
        broker.create_topic("secret.due")
        broker.create_topic("secret", config={"kafkapy.relay.to": "secret.due"})
        with TestClient(make_app(site_of(broker)), "http://127.0.0.1", backend="trio") as pages:
            answer = pages.get("/console/relays")
    assert answer.status_code == 200
    assert "secret" not in answer.text
