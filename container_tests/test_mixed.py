"""compose.mixed.yaml: kafkapy and Apache Kafka are one cluster, and Prometheus sees it.

Where the images of Apache Kafka and Prometheus cannot be had, theirs stand in: the same programs,
packed here (stand_ins/). Grafana is not run; its dashboard's queries are, by Prometheus.
"""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import yaml
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.installation import Unavailable, require
from container_tests.conftest import MakeCompose
from container_tests.engine import ROOT, Compose, docker, free_ports
from container_tests.test_compose import bootstrap, goes_round

MIXED: Final = Path("docker/compose.mixed.yaml")
DASHBOARD: Final = ROOT / "deploy/prometheus/dashboard.json"
RULES: Final = ROOT / "deploy/prometheus/rules.yml"
STAND_INS: Final = ROOT / "container_tests/stand_ins"
_PATIENCE_S: Final = 90


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Their images, by the variables that name them."""
    try:
        jars = require().directory
    except Unavailable as reason:
        pytest.skip(str(reason))
    context = tmp_path_factory.mktemp("stand-ins")
    shutil.copytree(STAND_INS, context, dirs_exist_ok=True)
    shutil.copytree(jars / "libs", context / "libs")
    shutil.copy(jars / "log4j2.properties", context)
    images = {"APACHE_KAFKA_IMAGE": "apache-kafka", "PROMETHEUS_IMAGE": "prometheus"}
    for name in images.values():
        image = f"kafkapy-stand-in-{name}"
        docker("build", "--quiet", "--target", name, "--tag", image, str(context))
    return {variable: f"kafkapy-stand-in-{name}" for variable, name in images.items()}


class Mixed:
    def __init__(self, compose: MakeCompose, images: dict[str, str]) -> None:
        self.ports = free_ports(5)
        names = ("KAFKAPY_PORT_1", "KAFKAPY_PORT_2", "KAFKAPY_PORT_3", "KAFKAPY_HTTP_PORT",
                 "PROMETHEUS_PORT")  # fmt: skip
        told = {name: str(port) for name, port in zip(names, self.ports, strict=True)} | images
        self.compose: Compose = compose(MIXED, **told)
        self.compose("up", "--detach", "--wait", "--no-build", "kafka-1", "kafka-2", "kafka-3",
                     "prometheus")  # fmt: skip

    @property
    def bootstrap(self) -> str:
        return bootstrap(self.ports[:3])

    def page(self, path: str) -> str:
        with urlopen(f"http://127.0.0.1:{self.ports[3]}{path}", timeout=30) as answer:
            return str(answer.read().decode())

    def prometheus(self, path: str) -> Any:
        with urlopen(f"http://127.0.0.1:{self.ports[4]}/api/v1/{path}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.prometheus(f"query?query={quote(expression)}")["result"]
        return found


@pytest.fixture
def mixed(compose: MakeCompose, stand_ins: dict[str, str]) -> Mixed:
    return Mixed(compose, stand_ins)


def until(what: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + _PATIENCE_S
    while not what():
        assert time.monotonic() < give_up_at
        time.sleep(0.5)


def test_two_of_kafkapy_and_one_of_apache_kafka_are_a_cluster_that_prometheus_sees(
    mixed: Mixed,
) -> None:
    """A topic with a replica on each goes round; then it is asked what the dashboard asks."""
    admin = AdminClient({"bootstrap.servers": mixed.bootstrap})
    for done in admin.create_topics([NewTopic("orders", 6, 3)]).values():
        done.result(60)
    goes_round(mixed.bootstrap, "orders")
    partitions = admin.list_topics("orders", timeout=30).topics["orders"].partitions.values()
    assert {len(one.isrs) for one in partitions} == {3}
    assert {one.leader for one in partitions} == {1, 2, 3}
    assert "ready" in mixed.page("/health/ready")
    assert "orders" in mixed.page("/metrics")

    def scraped() -> bool:
        targets = mixed.prometheus("targets")["activeTargets"]
        up = [one["labels"]["instance"] for one in targets if one["health"] == "up"]
        return sorted(up) == ["kafka-1:8080", "kafka-2:8080"] and bool(mixed.query("kafka_brokers"))

    until(scraped)
    assert {one["value"][1] for one in mixed.query("kafka_brokers")} == {"3"}
    until(lambda: bool(mixed.query('kafka_topic_bytes_in_total{topic="orders"}')))
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            mixed.query(target["expr"].replace("$__rate_interval", "1m"))
    groups = mixed.prometheus("rules")["groups"]
    known = yaml.safe_load(RULES.read_text())["groups"]
    assert [len(one["rules"]) for one in groups] == [len(one["rules"]) for one in known]
    assert all(rule["health"] in ("ok", "unknown") for one in groups for rule in one["rules"])
