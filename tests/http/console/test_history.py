"""The last hour: what is kept of it, how much, and what a page shows."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest
import trio
from starlette.testclient import TestClient

from kafkapy.core.ids import TopicPartition
from kafkapy.http.app import make_app
from kafkapy.http.console.charts import HEIGHT, WIDTH, chart, count, rate
from kafkapy.http.kafka import groups
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.site import Site
from kafkapy.http.watching.history import BYTES_IN, LOOKS, MOST, RECORDS, History, Shelf
from kafkapy.testing import Broker
from tests.http.console.filling import produced
from tests.http.pages import site_of, with_kafka


@pytest.fixture
def site(broker: Broker) -> Site:
    return site_of(broker)


@pytest.fixture
def pages(site: Site) -> Iterator[TestClient]:
    with TestClient(make_app(site), "http://127.0.0.1", backend="trio") as client:
        yield client


async def _nobody(groups: list[str]) -> dict[str, int | None]:
    assert not groups
    return {}


def _look(site: Site) -> None:
    trio.run(site.history.look, site, _nobody)


def test_what_is_written_between_two_looks_is_a_rate(
    broker: Broker, site: Site, pages: TestClient
) -> None:
    broker.create_topic("busy", partitions=2)
    broker.create_topic("idle")
    produced(broker, "busy", [b"before"] * 7)
    _look(site)
    produced(broker, "busy", [b"x"] * 30)
    produced(broker, "busy", [b"y"] * 20, partition=1)
    _look(site)
    before, now = site.history.of_topic("busy", RECORDS)
    assert before == 0, "what was there before anybody looked was not written just now"
    assert now > 0
    assert site.history.of_topic("busy", BYTES_IN)[-1] > now
    assert site.history.of_topic("idle", RECORDS) == []
    assert site.history.of_node(RECORDS)[-1] >= now
    text = pages.get("/console/topics/busy").text
    assert "Records written from" in text
    assert "0/s" in pages.get("/console/topics?q=idle").text
    assert "Bytes read" in pages.get("/").text


def test_lag_over_time_is_of_the_whole_group(broker: Broker, site: Site, pages: TestClient) -> None:
    broker.create_topic("waiting", partitions=2)
    for partition in range(2):
        produced(broker, "waiting", [b"x"] * 10, partition=partition)

    async def commit(kafka: Kafka) -> None:
        where = {TopicPartition("waiting", 0): 4, TopicPartition("waiting", 1): 9}
        await groups.commit(kafka, "waits", where)

    with_kafka(broker, commit)
    trio.run(site.lag.look, site.link)
    _look(site)
    assert site.history.of_group("waits")[-1] == 7
    assert "7 at the most" in pages.get("/console/group?name=waits").text


def test_a_group_of_another_coordinator_is_asked_about_once_it_was_looked_at(site: Site) -> None:
    asked = []

    async def lags_of(names: list[str]) -> dict[str, int | None]:
        asked.append(names)
        return dict.fromkeys(names, 12)

    site.history.watch("elsewhere")
    trio.run(site.history.look, site, lags_of)
    assert asked == [["elsewhere"]]
    assert site.history.of_group("elsewhere")[-1] == 12


def test_those_who_are_watched_are_few() -> None:
    history = History()
    for one in range(1000):
        history.watch(f"g{one}")
    assert len(history._watched) == 50
    assert "g999" in history._watched


def test_a_shelf_is_bounded_and_forgets_the_idle() -> None:
    shelf = Shelf(1, are_rates=True)
    shelf.put(0, {str(one): (1.0,) for one in range(MOST + 5)})
    assert len(shelf) == MOST
    assert shelf.past(str(MOST + 1), 0, 0) == []
    calm = {str(one): (0.0,) for one in range(MOST + 5)}
    for look in range(1, 4):
        shelf.put(look, calm)
    shelf.put(4, {**calm, "new": (2.0,)})
    assert len(shelf) == MOST
    assert shelf.past("new", 0, 4) == [0.0, 2.0]
    for look in range(5, LOOKS + 1):
        shelf.put(look, {**calm, "new": (0.0,)})
    assert len(shelf) == 1, "an hour without anything"
    shelf.put(LOOKS + 1, {})
    assert len(shelf) == 0, "deleted"


def test_a_ring_keeps_the_newest() -> None:
    shelf = Shelf(1, are_rates=True)
    for look in range(LOOKS + 10):
        shelf.put(look, {"one": (look + 1.0,)})
    past = shelf.past("one", 0, LOOKS + 9)
    assert len(past) == LOOKS
    assert past[0] == 11
    assert past[-1] == LOOKS + 10


@pytest.mark.parametrize("values", [[], [5.0], [0.0] * LOOKS, [1.0, 3.0, 2.0]])
def test_a_chart_stays_in_its_frame(values: list[float]) -> None:
    made = chart("Lag", values, 7_200_000, count)
    # The whole hour, or the ten minutes that there are at least.
    assert (made.begins, made.ends) == ("01:00" if len(values) == LOOKS else "01:50", "02:00")
    for pair in made.line.split():
        x, y = map(float, pair.split(","))
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    assert len(made.line.split()) == len(values)
    assert made.now in made.said
    ElementTree.fromstring(f'<svg><polygon points="{made.area}"/></svg>')


def test_numbers_are_short() -> None:
    assert [rate(one) for one in (0, 0.25, 3.0, 9.96, 12345.6)] == [
        "0/s",
        "0.2/s",
        "3/s",
        "10/s",
        "12,346/s",
    ]
