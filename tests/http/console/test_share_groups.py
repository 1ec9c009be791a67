"""Share groups in the console: who is in one, what is not done, and begun anew elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from starlette.testclient import TestClient

from kafkapy.http.console.lag import lags_of_any
from kafkapy.http.kafka import shares
from kafkapy.http.kafka.client import Kafka
from kafkapy.testing import Broker
from tests.http.console.filling import OWN, produced
from tests.http.console.test_groups import _previewed
from tests.http.pages import with_kafka

confluent_kafka = pytest.importorskip("confluent_kafka")
_RECORDS: Final = 10
_DONE: Final = 3


@contextmanager
def _member(broker: Broker, pages: TestClient, group: str, topic: str) -> Iterator[Any]:
    """It has all of the topic's records, and has said of three that they are done."""
    where = {"name": group, "key": "share.auto.offset.reset"}
    pages.post("/console/group/setting", params=where, data={"value": "earliest"}, headers=OWN)
    broker.create_topic(topic)
    produced(broker, topic, [b"%d" % one for one in range(_RECORDS)])
    consumer = confluent_kafka.ShareConsumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "client.id": "<b>worker</b>",
            "share.acknowledgement.mode": "explicit",
            "log_level": 2,
        }
    )
    consumer.subscribe([topic])
    found: list[Any] = []
    while len(found) < _RECORDS:
        found += consumer.poll(1.0) or ()
    for one in found[:_DONE]:
        consumer.acknowledge(one, confluent_kafka.AcknowledgeType.ACCEPT)
    consumer.commit_sync(30)
    try:
        yield consumer
    finally:
        consumer.close()


def _left(broker: Broker, group: str) -> int | None:
    async def work(kafka: Kafka) -> int | None:
        return (await lags_of_any(kafka, [group]))[group]

    return with_kafka(broker, work)


def test_a_share_group_shows_its_members_and_what_is_not_done(
    pages: TestClient, broker: Broker
) -> None:
    with _member(broker, pages, "the/workers", "jobs"):
        text = pages.get("/console/group", params={"name": "the/workers"}).text
        assert "&lt;b&gt;worker&lt;/b&gt;" in text
        assert "Stable" in text
        assert "/console/topics/jobs/messages?partition=0&amp;from=offset&amp;offset=" in text
        assert f'value="{_RECORDS - _DONE}"></meter>' in text
        row = pages.get("/console/groups?q=the/workers").text
        assert "share" in row
        assert f'<td class="num">{_RECORDS - _DONE}</td>' in row
        refused = pages.post(
            "/console/group/reset", data={"name": "the/workers", "at": "0 3 jobs"}, headers=OWN
        )
        assert refused.status_code == 409
        assert "stop them first" in refused.text


def test_a_share_group_begins_anew_where_it_was_shown(pages: TestClient, broker: Broker) -> None:
    with _member(broker, pages, "moved", "parts"):
        pass
    text = pages.get("/console/group/reset?name=moved&to=offset&offset=4").text
    assert _previewed(text) == ["0 4 parts"]
    assert "it comes again" in text
    done = pages.post(
        "/console/group/reset", data={"name": "moved", "at": "0 4 parts"}, headers=OWN
    )
    assert "offsets are changed" in done.text, done.text

    async def places(kafka: Kafka) -> list[shares.Place]:
        return list((await shares.places(kafka, "moved")).values())

    assert with_kafka(broker, places) == [shares.Place(4, 6)]
    assert _left(broker, "moved") == 6
    assert "Nobody reads" in pages.get("/console/group?name=moved").text
    assert "acknowledged" in pages.get("/console/group/delete?name=moved").text
    gone = pages.post("/console/group/delete", data={"name": "moved"}, headers=OWN)
    assert "The group is deleted" in gone.text
