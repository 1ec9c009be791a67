"""Prometheus exporters of others, against a node: they run, and say what the node says itself."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx2 as httpx
from prometheus_client.parser import text_string_to_metric_families

from exporter_tests.conftest import program
from kafkapy.server.sockets.free_ports import free_ports
from kafkapy.testing import Broker

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
_SECONDS: Final = 60.0
# What kafka_exporter and the node both tell, under one name.
_SHARED: Final = (
    "kafka_brokers",
    "kafka_topic_partition_current_offset",
    "kafka_topic_partition_oldest_offset",
    "kafka_topic_partition_in_sync_replica",
    "kafka_topic_partition_replicas",
    "kafka_topic_partition_leader",
    "kafka_consumergroup_current_offset",
    "kafka_consumergroup_lag",
    "kafka_consumergroup_members",
)
_LABELS: Final = ("topic", "partition", "consumergroup")


def _scraped(url: str) -> Samples:
    answer = httpx.get(url, trust_env=False, timeout=30)
    assert answer.status_code == 200
    found: Samples = {}
    for family in text_string_to_metric_families(answer.text):
        for one in family.samples:
            found[one.name, frozenset(one.labels.items())] = one.value
    return found


@contextmanager
def _running(command: list[str | Path], environment: dict[str, str], port: int) -> Iterator[str]:
    """Until it tells something."""
    url = f"http://127.0.0.1:{port}/metrics"
    with subprocess.Popen(command, env={**os.environ, **environment}) as process:
        try:
            deadline = time.monotonic() + _SECONDS
            while True:
                assert process.poll() is None, "it has ended"
                assert time.monotonic() < deadline, "it says nothing"
                try:
                    httpx.get(url, trust_env=False, timeout=30)
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            yield url
        finally:
            process.terminate()


def _until(url: str, wanted: str) -> Samples:
    """What it tells once it tells that: it looks now and then."""
    deadline = time.monotonic() + _SECONDS
    while True:
        samples = _scraped(url)
        if any(name == wanted for name, _ in samples):
            return samples
        assert time.monotonic() < deadline, f"{wanted} is not told"
        time.sleep(0.5)


def _comparable(samples: Samples) -> Samples:
    """By the labels that both have."""
    found: Samples = {}
    for (name, labels), value in samples.items():
        kept = frozenset(one for one in labels if one[0] in _LABELS)
        of_topic = dict(kept).get("topic", "orders")
        if name in _SHARED and of_topic == "orders":
            found[name, kept] = value
    return found


def test_kafka_exporter_tells_what_the_node_tells(node: Broker) -> None:
    [port] = free_ports(1)
    command: list[str | Path] = [
        program("kafka_exporter"),
        f"--kafka.server={node.bootstrap}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with _running(command, {}, port) as url:
        theirs = _comparable(_until(url, "kafka_consumergroup_lag"))
    ours = _comparable(_until(f"{node.http}/metrics", "kafka_consumergroup_lag"))
    assert {name for name, _ in theirs} == set(_SHARED)
    assert theirs == {key: ours.get(key) for key in theirs}


def test_kminion_reads_groups_from_the_offsets_topic_and_its_probe_comes_back(
    node: Broker,
) -> None:
    """By the admin API, and from the topic's records; and what it sends itself comes back."""
    for mode in ("adminApi", "offsetsTopic"):
        [port] = free_ports(1)
        environment = {
            "KAFKA_BROKERS": node.bootstrap,
            "EXPORTER_PORT": str(port),
            "EXPORTER_HOST": "127.0.0.1",
            "MINION_CONSUMERGROUPS_SCRAPEMODE": mode,
            "MINION_ENDTOEND_ENABLED": "true",
            "MINION_ENDTOEND_TOPICMANAGEMENT_REPLICATIONFACTOR": "1",
        }
        with _running([program("kminion")], environment, port) as url:
            samples = _until(url, "kminion_kafka_consumer_group_topic_lag")
            lags = {
                dict(labels)["group_id"]: value
                for (name, labels), value in samples.items()
                if name == "kminion_kafka_consumer_group_topic_lag"
            }
            assert lags["billing"] == 135, mode
            deadline = time.monotonic() + _SECONDS
            while not _total(_scraped(url), "kminion_end_to_end_messages_received_total"):
                assert time.monotonic() < deadline, "its own records do not come back"
                time.sleep(0.5)


def _total(samples: Samples, wanted: str) -> float:
    return sum(value for (name, _), value in samples.items() if name == wanted)
