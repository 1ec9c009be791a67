"""Requests by API and listener, connections, throttles."""

from kafkapy.core.errors import ErrorCode
from kafkapy.http.metrics.families import COUNTER, GAUGE, HISTOGRAM, Family, Page
from kafkapy.http.site import Site
from kafkapy.protocol.api_keys import ApiKey

_OF_API = ("listener", "api")
REQUESTS = Family(
    "kafka_request_duration_seconds",
    HISTOGRAM,
    "From when a request was read until its answer was packed, waiting included.",
    _OF_API,
    "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=*",
)
LOCAL = Family(
    "kafka_request_local_seconds_total",
    COUNTER,
    "Of that, until it was answered or had to wait: for records, for replicas, for its turn.",
    _OF_API,
    "kafka.network:type=RequestMetrics,name=LocalTimeMs,request=*",
)
REQUEST_BYTES = Family(
    "kafka_request_bytes_total",
    COUNTER,
    "Bytes of requests.",
    _OF_API,
    "kafka.network:type=RequestMetrics,name=RequestBytes,request=*",
)
RESPONSE_BYTES = Family(
    "kafka_response_bytes_total",
    COUNTER,
    "Bytes of answers.",
    _OF_API,
    "kafka.network:type=RequestMetrics,name=ResponseBytes,request=*",
)
ERRORS = Family(
    "kafka_request_errors_total",
    COUNTER,
    "Answers with an error code; of one with several each counts once.",
    (*_OF_API, "error"),
    "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=*,error=*",
)
CONNECTIONS = Family(
    "kafka_connections",
    GAUGE,
    "Connections that are open.",
    ("listener",),
    "kafka.server:type=socket-server-metrics,listener=*:connection-count",
)
ACCEPTED = Family(
    "kafka_connections_accepted_total",
    COUNTER,
    "Connections that were opened since the start.",
    ("listener",),
    "kafka.server:type=socket-server-metrics,listener=*:connection-creation-total",
)
THROTTLED = Family(
    "kafka_throttled_total",
    COUNTER,
    "Answers after which a client was not heard for a while, because of its quota.",
    (),
    "kafka.server:type={Produce|Fetch|Request},user=*,client-id=*:throttle-time",
)
THROTTLED_SECONDS = Family(
    "kafka_throttled_seconds_total",
    COUNTER,
    "For how long in all.",
    (),
    "kafka.server:type={Produce|Fetch|Request},user=*,client-id=*:throttle-time",
)
FAMILIES = (
    REQUESTS,
    LOCAL,
    REQUEST_BYTES,
    RESPONSE_BYTES,
    ERRORS,
    CONNECTIONS,
    ACCEPTED,
    THROTTLED,
    THROTTLED_SECONDS,
)
_APIS = {int(one): one.name for one in ApiKey}


def collect(site: Site, page: Page) -> None:
    for listener, counts in site.shell.counts.items():
        for api_key, api in sorted(counts.by_api.items()):
            name = _APIS[api_key]
            page.observe(REQUESTS, api.latencies, listener, name)
            page.add(LOCAL, api.local_seconds, listener, name)
            page.add(REQUEST_BYTES, api.request_bytes, listener, name)
            page.add(RESPONSE_BYTES, api.response_bytes, listener, name)
        for (api_key, code), count in sorted(counts.errors.items()):
            page.add(ERRORS, count, listener, _APIS[api_key], _error(code))
    for one in list(site.shell.listeners):
        page.add(CONNECTIONS, len(one.connections), one.name)
        page.add(ACCEPTED, one.accepted, one.name)
    quotas = site.link.node.client_quotas
    page.add(THROTTLED, quotas.throttled_count)
    page.add(THROTTLED_SECONDS, quotas.throttled_ms / 1000)


def _error(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
