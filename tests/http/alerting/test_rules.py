"""Rules in a file; for Prometheus; and told to a webhook, that is not always there."""

import json
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import trio

from kafkapy.broker.config.table.values import ConfigError
from kafkapy.core.ids import TopicPartition
from kafkapy.http.alerting.judge import FIRING, RESOLVED, Alert
from kafkapy.http.alerting.rules import KINDS, Rule, default_rules, load, prometheus_rules
from kafkapy.http.alerting.webhook import Webhook, address_of
from kafkapy.http.alerts import look
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.metrics import FAMILIES
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from kafkapy.testing.node.shell import Heard
from tests.http.pages import HTTP, client_of, site_of, with_kafka

FILE = """
webhook = "http://127.0.0.1:9/hook"
[[rule]]
name = "orders behind"
kind = "lag_seconds"
above = 60
match = "orders-*"
severity = "critical"
"""
SERVED = Path(__file__).parents[3] / "deploy/prometheus/rules.yml"


def test_a_file_says_what_is_told_and_whom(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(FILE)
    alerting = load(str(path))
    assert alerting.webhook == "http://127.0.0.1:9/hook"
    assert alerting.rules == (
        Rule("orders behind", "lag_seconds", 60, KINDS["lag_seconds"].for_seconds, "orders-*",
             "critical"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[rule]", "not TOML"),
        ("rules = 1", "no \\['rules'\\]"),
        ("[[rule]]\nname = 'a'\nkind = 'b'", "a name and a kind"),
        ("[[rule]]\nkind = 'no_leader'", "a name and a kind"),
        ("[[rule]]\nname = 'a'\nkind = 'no_leader'\nabove = 'x'", "no above = 'x'"),
        ("[[rule]]\nname = 'a'\nkind = 'no_leader'\nfoo = 1", "no foo = 1"),
        ("webhook = 'mailto:x'", "a URL"),
        ("[[rule]]\nname='a'\nkind='no_leader'\n" * 2, "the same name"),
    ],
)
def test_what_nobody_understands_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=why):
        load(str(path))


def test_prometheus_rules_name_metrics_that_there_are() -> None:
    names = {one.name for one in FAMILIES}
    for kind in KINDS.values():
        asked = set(re.findall(r"kafka(?:py)?_\w+", kind.expression))
        assert asked
        assert asked <= names


def test_a_rules_pattern_becomes_prometheus_matcher() -> None:
    rule = Rule("a b", "lag_seconds", 5, 60, "orders-*.eu")
    text = prometheus_rules([rule])
    assert r"consumergroup=~\"orders-.*\\\\.eu\"" in text
    assert 'alert: "KafkaAB"' in text


def test_the_rules_that_are_deployed_are_those_that_every_node_has() -> None:
    told = "python -m kafkapy.http.alerting.rules"
    assert SERVED.read_text() == prometheus_rules(default_rules()), told


class _Hook(BaseHTTPRequestHandler):
    answers = 200
    heard: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        # Before the answer: who gets it goes on and asks what was heard.
        if self.answers == 200:
            self.heard.append(json.loads(body))
        self.send_response(self.answers)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[str]:
    _Hook.answers, _Hook.heard = 200, []
    server = HTTPServer(("127.0.0.1", 0), _Hook)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_webhook_that_fails_hears_of_it_later(hook: str) -> None:
    alert = Alert(Rule("r", "no_leader", 0, 0), "partitions", "told", FIRING, 1_000)
    heard = Heard()
    webhook = Webhook(hook, 1, "cluster", heard)
    _Hook.answers = 500
    trio.run(webhook.tell, [alert])
    assert [event for _, event, _ in heard.events] == ["webhook failed"]
    _Hook.answers = 200
    trio.run(webhook.tell, [alert._replace(state=RESOLVED, ended_wall_ms=2_000)])
    (body,) = _Hook.heard
    assert [one["status"] for one in body["alerts"]] == ["firing", "resolved"]
    assert body["alerts"][1]["endsAt"] == "1970-01-01T00:00:02.000+00:00"
    assert not webhook.waiting


def test_a_webhook_hears_what_alertmanager_would_tell_it() -> None:
    """Every field of its webhook's version 4; what all alerts have in common is said of all."""
    webhook = Webhook("http://hook", 1, "c", Heard(), "http://kafka:8080")
    rule = Rule("r", "no_leader", 0, 0)
    one = Alert(rule, "partitions", "told", FIRING, 1_000)
    body = webhook.body([one, one._replace(subject="others")])
    assert list(body) == [
        "version",
        "groupKey",
        "truncatedAlerts",
        "receiver",
        "status",
        "groupLabels",
        "commonLabels",
        "commonAnnotations",
        "externalURL",
        "alerts",
    ]
    assert body["groupKey"] == '{}:{cluster="c", node="1"}'
    assert body["groupLabels"] == {"cluster": "c", "node": "1"}
    common = {"alertname": "r", "kind": "no_leader", "severity": "warning"}
    assert body["commonLabels"] == {**common, **body["groupLabels"]}
    assert body["commonAnnotations"] == {"summary": "told"}
    assert body["externalURL"] == "http://kafka:8080"
    told = body["alerts"][1]
    assert list(told) == [
        "status",
        "labels",
        "annotations",
        "startsAt",
        "endsAt",
        "generatorURL",
        "fingerprint",
    ]
    assert told["labels"]["subject"] == "others"
    assert told["generatorURL"] == "http://kafka:8080/console/alerts"
    assert webhook.body([one])["commonLabels"]["subject"] == "partitions"


@pytest.mark.parametrize(
    ("listener", "address"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("http://0.0.0.0:80", f"http://{socket.gethostname()}:80"),
        ("http://:80", f"http://{socket.gethostname()}:80"),
    ],
)
def test_a_node_says_by_which_address_people_ask_it(listener: str, address: str) -> None:
    assert address_of([listener, "http://other:1"]) == address


def test_a_group_that_falls_behind_is_told_and_told_to_be_back(hook: str, tmp_path: Path) -> None:
    """On a node, from the records to the webhook."""
    path = tmp_path / "alerts.toml"
    path.write_text(
        f'webhook = "{hook}"\n[[rule]]\nname = "behind"\nkind = "lag_seconds"\nabove = 60\nfor = 0'
    )
    settings = {**HTTP, "http.alerts.file": str(path), "http.alerts.interval.ms": "2147483647"}
    with Broker(settings) as broker, client_of(broker) as client:
        broker.create_topic("orders")
        where = TopicPartition("orders", 0)
        told = broker._running().http
        assert told is not None

        async def work(kafka: Kafka) -> None:
            site = site_of(broker, told._alerting)
            webhook = Webhook(hook, 1, "c", site.journal)
            await records.produce(kafka, "orders", 0, [NewRecord(None, b"old", 1000)] * 2)
            for committed in (1, 2):
                await groups.commit(kafka, "readers", {where: committed})
                await site.lag.look(kafka.link)
                await look(site, site.judge, webhook)

        with_kafka(broker, work)
        assert client.get("/api/v1/alerts").json() == {"alerts": []}
        assert "KafkaBehind" in client.get("/api/v1/alerts/prometheus").text
    states = [one["status"] for body in _Hook.heard for one in body["alerts"]]
    assert states == ["firing", "resolved"]
    assert "group readers is" in _Hook.heard[0]["alerts"][0]["annotations"]["summary"]


def test_a_file_that_is_wrong_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load(str(tmp_path / "nothing.toml"))
