"""Streams groups in the console and over REST: who is in one, and what each member reads."""

from starlette.testclient import TestClient

from kafkapy.http.kafka import streams_groups
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.rest.groups import described
from kafkapy.testing import Broker
from tests.cli.groups.test_streams import join
from tests.http.console.filling import OWN
from tests.http.pages import with_kafka

GROUP = "an/app"


def test_a_streams_group_shows_who_reads_what(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("orders", 2)
    where = {"name": GROUP, "key": "streams.initial.rebalance.delay.ms"}
    pages.post("/console/group/setting", params=where, data={"value": "0"}, headers=OWN)
    join(broker, GROUP)
    text = pages.get("/console/group", params={"name": GROUP}).text
    assert "Streams group, coordinated by broker" in text
    assert "Stable" in text
    row = pages.get("/console/groups", params={"q": GROUP}).text
    assert "streams" in row
    told = with_kafka(broker, lambda kafka: described(kafka, GROUP))
    assert (told["type"], told["state"]) == ("streams", "Stable")
    (member,) = told["members"]
    assert member["memberId"] == "me"
    assert [(one["topic"], one["partition"]) for one in member["partitions"]] == [
        ("orders", 0),
        ("orders", 1),
    ]


def test_a_group_that_is_not_there_is_no_streams_group(broker: Broker) -> None:
    async def work(kafka: Kafka) -> streams_groups.StreamsGroup | None:
        return await streams_groups.describe(kafka, "nobody")

    assert with_kafka(broker, work) is None
