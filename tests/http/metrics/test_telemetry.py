"""Clients' own metrics, from a real client to /metrics (KIP-714)."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafkapy.core.errors import Corrupt
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.metrics.telemetry import samples
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of, with_kafka

TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


def advertised(broker: Broker) -> set[int]:
    body = {"client_software_name": "test", "client_software_version": "1"}
    return {one.api_key for one in broker._ask(ApiKey.API_VERSIONS, 4, body).api_keys}


def test_clients_are_asked_where_somebody_looks(broker: Broker) -> None:
    assert advertised(broker) >= TELEMETRY
    with Broker() as silent:
        assert not advertised(silent) & TELEMETRY


async def _subscribe(kafka: Kafka) -> None:
    configs = [
        {"name": "metrics", "config_operation": 0, "value": "*"},
        {"name": "interval.ms", "config_operation": 0, "value": "100"},
    ]
    resource = {"resource_type": 16, "resource_name": "all", "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    answer = await kafka.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    assert not answer.responses[0].error_code


def test_what_librdkafka_pushes_is_shown() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with Broker(HTTP) as broker, client_of(broker) as client:
        broker.create_topic("pushed")
        with_kafka(broker, _subscribe)
        settings: dict[str, Any] = {"bootstrap.servers": broker.bootstrap, "client.id": "told"}
        producer = confluent_kafka.Producer(settings)
        producer.produce("pushed", b"x")
        producer.flush(10)
        names: set[str] = set()
        for _ in range(300):  # librdkafka asks and pushes by itself, after a tenth of a second
            producer.poll(0.1)
            names = {
                sample.labels["name"]
                for family in text_string_to_metric_families(client.get("/metrics").text)
                for sample in family.samples
                if sample.name == "kafka_client_metric" and sample.labels["client_id"] == "told"
            }
            if names:
                break
    assert any(name.startswith("org.apache.kafka.producer.") for name in names), names


def test_what_is_no_telemetry_is_left_out() -> None:
    with pytest.raises(Corrupt):
        list(samples(b"\xff\xff\xff"))


@pytest.mark.parametrize("data", [b"", b"\x0a\x00"])
def test_telemetry_without_metrics_is_none(data: bytes) -> None:
    assert list(samples(data)) == []
