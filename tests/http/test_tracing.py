"""Spans of what real clients ask, told to a collector of OpenTelemetry's protocol."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from kafkapy.broker.config.table.values import ConfigError
from kafkapy.http.beside import Http
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.tracing import tell
from kafkapy.testing import Broker
from kafkapy.testing.node.settings import configured
from kafkapy.testing.node.shell import Heard
from tests.http.pages import HTTP, site_of, with_kafka

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class _Collector(BaseHTTPRequestHandler):
    heard: ClassVar[list[bytes]] = []
    news: ClassVar[threading.Condition] = threading.Condition()

    def do_POST(self) -> None:
        assert self.headers["content-type"] == "application/x-protobuf"
        data = self.rfile.read(int(self.headers["content-length"]))
        with self.news:
            self.heard.append(data)
            self.news.notify_all()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[str]:
    _Collector.heard = []
    server = HTTPServer(("127.0.0.1", 0), _Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_produce_is_a_span_of_its_records_trace(collector: str) -> None:
    """All are followed; the header reaches the consumer as it was written."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with Broker(HTTP) as broker:
        broker.create_topic("followed")
        site = site_of(broker)
        counts = list(site.shell.counts.values())
        for one in counts:
            one.is_sampled = lambda: True
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "client.id": "shop"}
        )
        header = f"00-{TRACE}-{PARENT}-01"
        producer.produce("followed", b"x", headers=[("traceparent", header.encode())])
        producer.flush(10)
        (record,) = broker.records("followed")
        assert dict(record.headers)["traceparent"] == header.encode()

        async def work(_: Kafka) -> int:
            return await tell(site, collector, counts)

        assert with_kafka(broker, work) == 1
    (data,) = _Collector.heard
    told = ExportTraceServiceRequest.FromString(data)
    (span,) = told.resource_spans[0].scope_spans[0].spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    attributes = {one.key: one.value.string_value for one in span.attributes}
    assert attributes["messaging.operation.name"] == "produce"
    assert attributes["messaging.client.id"] == "shop"
    assert 0 <= span.end_time_unix_nano - span.start_time_unix_nano < 60 * 10**9


def _spans() -> dict[str, Any]:
    """Those heard of so far, by name."""
    return {
        span.name: span
        for data in _Collector.heard
        for resource in ExportTraceServiceRequest.FromString(data).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }


def test_by_its_settings_a_node_tells_of_produce_and_of_fetch(collector: str) -> None:
    """From the settings to the collector; and the consumer goes on with the producer's trace."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    settings = {**HTTP, "http.tracing.endpoint": collector, "http.tracing.ratio": "1.0"}
    with Broker(settings) as broker:
        broker.create_topic("carried")
        told = {"bootstrap.servers": broker.bootstrap}
        producer = confluent_kafka.Producer(told)
        header = f"00-{TRACE}-{PARENT}-01"

        def produce() -> None:
            producer.produce("carried", b"x", headers=[("traceparent", header.encode())])
            producer.flush(10)

        produce()
        consumer = confluent_kafka.Consumer(
            {**told, "group.id": "readers", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["carried"])
        message = consumer.poll(30)
        assert message is not None
        assert dict(message.headers())["traceparent"] == header.encode()

        def is_told() -> bool:
            kinds = {name.split()[0] for name in _spans()}
            if "produce" not in kinds:
                produce()  # HTTP, and with it tracing, may have begun behind the first one
            return kinds >= {"produce", "fetch"}

        with _Collector.news:
            assert _Collector.news.wait_for(is_told, 60), list(_spans())
        consumer.close()
    produced = next(span for name, span in _spans().items() if name.startswith("produce"))
    fetched = next(span for name, span in _spans().items() if name.startswith("fetch"))
    assert (produced.trace_id.hex(), produced.parent_span_id.hex()) == (TRACE, PARENT)
    assert fetched.trace_id != produced.trace_id
    assert len(fetched.trace_id) == 16
    assert fetched.parent_span_id == b""


def test_what_is_not_chosen_is_not_followed() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with Broker(HTTP) as broker:
        broker.create_topic("left-alone")
        site = site_of(broker)
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("left-alone", b"x")
        producer.flush(10)
        assert not any(one.traced for one in site.shell.counts.values())


def test_a_collector_that_is_not_there_costs_the_spans_and_nothing_else() -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with Broker(HTTP) as broker:
        broker.create_topic("lost")
        site = site_of(broker)
        counts = list(site.shell.counts.values())
        for one in counts:
            one.is_sampled = lambda: True
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("lost", b"x")
        assert producer.flush(10) == 0

        async def work(_: Kafka) -> int:
            return await tell(site, "http://127.0.0.1:9/v1/traces", counts)

        assert with_kafka(broker, work) == 0
        assert "spans lost" in [event for _, event, _ in broker.events()]


def test_an_endpoint_that_is_no_url_stops_the_start() -> None:
    settings = {**HTTP, "http.tracing.endpoint": "file:///etc/passwd"}
    with pytest.raises(ConfigError, match="URL"):
        Http(configured("/nowhere", "127.0.0.1:0", settings), Heard())
