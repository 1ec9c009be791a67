"""What clients have pushed (KIP-714): their own metrics, under their own names.

    org.apache.kafka.producer.connection.creation.rate --> kafka_client_metric{name="...", ...}

One family, with the metric's name as a label: which there are clients decide, and their names are
not this node's to promise. Of histograms there is count and sum. Clients are forgotten three
intervals after their last push. opentelemetry-proto unpacks them; a push that it cannot read, or
whose codec is broken, is counted and left out.
"""

from collections.abc import Iterator
from typing import Any, Final

from kafkapy.core.errors import Corrupt
from kafkapy.http.metrics.families import GAUGE, Family, Page
from kafkapy.http.metrics.partitions import LEFT_OUT
from kafkapy.http.site import Site
from kafkapy.protocol.compression.codecs import decompress

CLIENTS = Family(
    "kafka_client_instances", GAUGE, "Clients whose metrics are here.", (),
    "kafka.server:type=client-metrics: ClientMetricsInstanceCount",
)  # fmt: skip
METRIC = Family(
    "kafka_client_metric", GAUGE, "What a client has pushed last, by the client's own name for it.",
    ("client_id", "client_instance_id", "client_software", "name", "attributes"), "KIP-714",
)  # fmt: skip
UNREADABLE = Family(
    "kafka_client_metrics_unreadable", GAUGE, "Clients whose last push cannot be read.", (),
    "kafka.server:type=client-metrics: ClientMetricsPluginErrorCount",
)  # fmt: skip
FAMILIES = (CLIENTS, METRIC, UNREADABLE)
_FORGOTTEN_MS: Final = 3 * 3_600_000
_UNPACKED_BYTES: Final = 16 * 1024 * 1024


def collect(site: Site, page: Page) -> None:
    telemetry = site.link.node.telemetry
    if telemetry is None:
        return
    now = site.link.node.clock.now()
    pushed = [one for one in telemetry.pushed() if now - one[1].at < _FORGOTTEN_MS]
    page.add(CLIENTS, len(pushed))
    unreadable, lines, most = 0, 0, site.config.http_metrics_max_partitions * 10
    for instance, one in pushed:
        try:
            found = list(samples(decompress(one.codec, one.data, _UNPACKED_BYTES)))
        except Corrupt:
            unreadable += 1
            continue
        for name, attributes, value in found:
            lines += 1
            if lines <= most:
                page.add(METRIC, value, one.client_id, instance, one.software, name, attributes)
    page.add(UNREADABLE, unreadable)
    page.add(LEFT_OUT, max(0, lines - most), "metrics of clients")


def samples(data: bytes) -> Iterator[tuple[str, str, float]]:
    """(name, attributes, value) of each data point. Corrupt for what is none of OpenTelemetry's."""
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    try:
        told = MetricsData.FromString(data)
    except DecodeError as bad:
        raise Corrupt(f"metrics of {len(data)} bytes") from bad
    for resource in told.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                if kind is not None:
                    for point in getattr(metric, kind).data_points:
                        yield from _of_point(metric.name, point)


def _of_point(name: str, point: Any) -> Iterator[tuple[str, str, float]]:
    attributes = ",".join(
        f"{one.key}={one.value.string_value or one.value.int_value}" for one in point.attributes
    )
    if hasattr(point, "as_double"):
        which = point.WhichOneof("value")
        if which is not None:
            yield name, attributes, getattr(point, which)
        return
    yield f"{name}.count", attributes, point.count
    yield f"{name}.sum", attributes, point.sum
