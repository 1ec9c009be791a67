"""deploy/prometheus: every query of the dashboard and of the rules is about what a node tells."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafkapy.core.ids import TopicPartition
from kafkapy.http.alerting.rules import KINDS
from kafkapy.http.alerts import look
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.metrics import FAMILIES
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of, site_of, with_kafka

DEPLOYED = Path(__file__).parents[3] / "deploy/prometheus"
_METRIC = re.compile(r"\b(?:kafka(?:py)?|process)_\w+")
# By what has to happen for them: no test makes a certificate end, a disk slow or a client wait.
_NOT_HERE = {"kafka_certificate_expires_timestamp_seconds", "kafkapy_alerts"}


def queries() -> list[str]:
    dashboard = json.loads((DEPLOYED / "dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return asked + [kind.expression for kind in KINDS.values()]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, frozenset[str]]]:
    """What a node tells that has been used: names of samples, with those of their labels."""
    directory = tmp_path_factory.mktemp("data")
    with Broker(HTTP, directory=directory) as broker, client_of(broker) as client:
        broker.create_topic("used")

        async def work(kafka: Kafka) -> None:
            await records.produce(kafka, "used", 0, [NewRecord(None, b"v", 1)])
            await groups.commit(kafka, "readers", {TopicPartition("used", 0): 0})
            http = broker._running().http
            assert http is not None
            assert http.site is not None
            await http.site.lag.look(kafka.link)
            await look(site_of(broker), http.site.judge, None)

        with_kafka(broker, work)
        confluent_kafka = pytest.importorskip("confluent_kafka")
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("used", b"x", partition=7)
        producer.list_topics("nowhere", timeout=10)
        client.get("/metrics")
        text = client.get("/metrics").text
    return {
        (sample.name, frozenset(sample.labels))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize("query", queries())
def test_a_query_is_about_what_a_node_tells(
    query: str, told: set[tuple[str, frozenset[str]]]
) -> None:
    names = {name for name, _ in told}
    asked = set(_METRIC.findall(query)) - _NOT_HERE
    assert asked <= names, asked - names
    labels = {label for name, some in told if name in asked for label in some}
    for group in re.findall(r"by \(([^)]*)\)", query):
        wanted = {one.strip() for one in group.split(",")} - {"instance"}
        if not _NOT_HERE & set(_METRIC.findall(query)):
            assert wanted <= labels, wanted - labels


def test_metrics_that_are_not_told_here_are_told_somewhere() -> None:
    assert {one.name for one in FAMILIES} >= _NOT_HERE
