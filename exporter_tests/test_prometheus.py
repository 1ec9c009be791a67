"""Prometheus itself, as deploy/prometheus configures it: it scrapes a node, every query of the
dashboard has an answer, every rule is evaluated; and each rule fires and is over again.

Prometheus and promtool are the system's (`apt-get install prometheus`).
"""

import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2 as httpx
import pytest

from exporter_tests.conftest import ROOT
from kafkapy.core.ids import TopicPartition
from kafkapy.http.alerting.rules import KINDS, default_rules
from kafkapy.http.kafka import groups
from kafkapy.http.kafka.client import Kafka
from kafkapy.server.sockets.free_ports import free_ports
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of, with_kafka

DEPLOYED: Final = ROOT / "deploy" / "prometheus"
_TARGETS: Final = "[kafka-1:8080, kafka-2:8080, kafka-3:8080]"
_SECONDS: Final = 120.0
_DAY: Final = 86_400
# Kind -> its series: minutes in which it has to fire, then minutes in which it is over.
_SERIES: Final = {
    "lag_grows": ("kafka_consumergroup_lag_rate", {"consumergroup": "g"}, "5x20 -5x20"),
    "lag_seconds": ("kafka_consumergroup_lag_seconds_max", {"consumergroup": "g"}, "400x20 2x20"),
    "no_leader": ("kafka_offline_partitions", {}, "2x20 0x20"),
    "under_min_isr": ("kafka_server_under_min_isr_partitions", {"instance": "n"}, "1x20 0x20"),
    # A volume that fills in ten hours; then somebody makes room, and that is an hour ago.
    "disk_full": (
        "kafka_log_directory_usable_bytes", {"directory": "/d"}, "600-1x20 6000+0x200",
    ),
    "certificate_expires": (
        "kafka_certificate_expires_timestamp_seconds",
        {"listener": "SSL"},
        f"{13 * _DAY}x20 {90 * _DAY}x20",
    ),
    "transaction_stuck": (
        "kafka_transaction_oldest_open_seconds", {"instance": "n"}, "901x20 0x20",
    ),
    "poison_message": ("kafka_consumergroup_stuck_seconds", {"consumergroup": "g"}, "301x20 0x20"),
}  # fmt: skip


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here: apt-get install prometheus")
    return found


def _checked(*command: str) -> str:
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_the_rules_are_prometheus_rules(tmp_path: Path) -> None:
    """Those that are deployed, and those of a node whose rules say whom they are about."""
    promtool = _tool("promtool")
    assert f"{len(KINDS)} rules found" in _checked(
        promtool, "check", "rules", str(DEPLOYED / "rules.yml")
    )
    alerts = tmp_path / "alerts.toml"
    alerts.write_text(
        "".join(
            f'[[rule]]\nname = "{kind} of some"\nkind = "{kind}"\nmatch = "or*d-?.[ab]"\n'
            for kind in KINDS
        )
    )
    with Broker({**HTTP, "http.alerts.file": str(alerts)}) as broker, client_of(broker) as client:
        told = tmp_path / "told.yml"
        told.write_text(client.get("/api/v1/alerts/prometheus").text)
    assert f"{len(KINDS)} rules found" in _checked(promtool, "check", "rules", str(told))


@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_fires_and_is_over(kind: str, tmp_path: Path) -> None:
    """As promtool evaluates it, a look a minute."""
    promtool = _tool("promtool")
    rule = next(one for one in default_rules() if one.kind == kind)
    name, labels, values = _SERIES[kind]
    written = ",".join(f'{key}="{value}"' for key, value in labels.items())
    kept = {} if "max(" in KINDS[kind].expression else labels
    fires = {
        "exp_labels": {"severity": rule.severity, **kept},
        "exp_annotations": {"summary": KINDS[kind].told},
    }
    alert = "Kafka" + "".join(word.capitalize() for word in rule.name.split())
    looks = [("20m", [fires]), ("220m" if kind == "disk_full" else "40m", [])]
    if rule.for_seconds >= 60:
        looks.insert(0, ("0m", []))
    series = f"{name}{{{written}}}"
    test = {
        "interval": "1m",
        "input_series": [{"series": series, "values": values}],
        "alert_rule_test": [
            {"eval_time": at, "alertname": alert, "exp_alerts": told} for at, told in looks
        ],
    }
    path = tmp_path / "test.yml"
    document = {"rule_files": [str(DEPLOYED / "rules.yml")], "tests": [test]}
    path.write_text(json.dumps(document))
    assert "SUCCESS" in _checked(promtool, "test", "rules", str(path))


@contextmanager
def _busy(broker: Broker) -> Iterator[None]:
    """Somebody writes, reads slowly, asks for what is not there, and has a transaction open."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    is_over = threading.Event()
    told = {"bootstrap.servers": broker.bootstrap}
    transaction = confluent_kafka.Producer(
        {**told, "transactional.id": "open", "transaction.timeout.ms": 600_000}
    )
    transaction.init_transactions(30)
    transaction.begin_transaction()
    transaction.produce("busy", b"in doubt", partition=1)
    transaction.flush(30)

    def work() -> None:
        producer = confluent_kafka.Producer(told)
        consumer = confluent_kafka.Consumer({**told, "group.id": "readers"})
        consumer.subscribe(["busy"])
        while not is_over.is_set():
            producer.produce("busy", b"x" * 100, partition=0)
            producer.flush(10)
            consumer.poll(0.2)
            producer.list_topics("not.there", timeout=10)
        consumer.close()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        transaction.abort_transaction(30)


@contextmanager
def _prometheus(broker: Broker, folder: Path) -> Iterator[httpx.Client]:
    (port,) = free_ports(1)
    text = (DEPLOYED / "prometheus.yml").read_text()
    assert _TARGETS in text
    target = broker.http.removeprefix("http://")
    text = text.replace(_TARGETS, f"[{target}]").replace("15s", "1s")
    text = text.replace("scrape_interval: 1s", "scrape_interval: 1s\n  evaluation_interval: 1s")
    (folder / "prometheus.yml").write_text(text)
    shutil.copy(DEPLOYED / "rules.yml", folder)
    command = [
        _tool("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with open(folder / "log", "wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            yield client
    finally:
        running.terminate()
        running.wait(30)


def _queries() -> list[str]:
    dashboard = json.loads((DEPLOYED / "dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def _asked(client: httpx.Client, path: str, **query: str) -> Any:
    try:
        answer = client.get(path, params=query)
    except httpx.TransportError:
        return None  # it starts
    if answer.status_code == 503:
        return None
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def test_every_query_has_an_answer_and_every_rule_is_looked_at(tmp_path: Path) -> None:
    _tool("prometheus")
    alerts = tmp_path / "alerts.toml"
    # One that holds, so that there is an alert to ask for.
    alerts.write_text('[[rule]]\nname = "behind"\nkind = "lag_seconds"\nabove = 0\nfor = 0\n')
    settings = {
        **HTTP,
        "http.alerts.file": str(alerts),
        "http.alerts.interval.ms": "1000",
        "http.lag.interval.ms": "1000",
    }
    with Broker(settings, directory=tmp_path / "kafka") as broker:
        broker.create_topic("busy", partitions=2, config={"flush.messages": "1"})
        broker.produce("busy", "old", partition=1)

        async def commit(kafka: Kafka) -> None:
            await groups.commit(kafka, "behind", {TopicPartition("busy", 1): 0})

        with_kafka(broker, commit)
        with _busy(broker), _prometheus(broker, tmp_path) as client:
            waiting, deadline = set(_queries()), time.monotonic() + _SECONDS
            while waiting and time.monotonic() < deadline:
                for query in list(waiting):
                    told = _asked(client, "/api/v1/query", query=query)
                    if told and told["result"] and "NaN" not in str(told["result"]):
                        waiting.discard(query)
            assert waiting == set()
            rules: list[Any] = []
            while time.monotonic() < deadline:
                told = _asked(client, "/api/v1/rules")
                rules = [one for group in told["groups"] for one in group["rules"]]
                if all(one["health"] != "unknown" for one in rules):
                    break
            assert len(rules) == len(KINDS)
            assert {(one["name"], one["health"]) for one in rules} == {
                (one["name"], "ok") for one in rules
            }
