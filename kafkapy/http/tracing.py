"""Spans of Produce and Fetch, for OpenTelemetry (http.tracing.endpoint; OTLP over HTTP, protobuf).

Of the requests that clients send by sockets a part is followed (http.tracing.ratio), chosen by
chance: from when it was read until its answer was packed. A Produce whose first record has W3C's
`traceparent` among its headers belongs to that trace, under that span; any other span begins a
trace. Headers themselves are records' own: whoever consumes them gets them as they were written.

What is followed is copied when it comes, and looked into here, on HTTP's thread.
"""

import os
import random
import re
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import trio

from kafkapy import __version__
from kafkapy.broker.requests.counting import MOST_TRACED, RequestCounts, Traced
from kafkapy.core.errors import Corrupt
from kafkapy.http.posting import post
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches import batch
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.messages import decode_request

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from kafkapy.http.site import Site

_EVERY_SECONDS: Final = 1.0
_PROTOBUF: Final = "application/x-protobuf"
_TRACEPARENT: Final = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_SERVER_SPAN: Final = 2
_NAMES: Final = {int(ApiKey.PRODUCE): "produce", int(ApiKey.FETCH): "fetch"}


class Span(NamedTuple):
    """`parent` is empty where it begins a trace."""

    trace: bytes
    parent: bytes
    name: str
    began_ns: int
    ended_ns: int
    attributes: dict[str, str]


def routes(site: "Site") -> "list[BaseRoute]":
    return []


async def run(site: "Site") -> None:
    endpoint, ratio = site.config.http_tracing_endpoint, site.config.http_tracing_ratio
    if endpoint is None:
        return
    chance = random.Random()  # nosec B311 - which request is followed is no secret
    counts = list(site.shell.counts.values())
    for one in counts:
        one.is_sampled = lambda: chance.random() < ratio
    try:
        while True:
            await trio.sleep(_EVERY_SECONDS)
            await tell(site, endpoint, counts)
    finally:
        for one in counts:
            one.is_sampled = None


async def tell(site: "Site", endpoint: str, counts: list[RequestCounts]) -> int:
    """How many spans have left. What an endpoint does not take is lost, and said."""
    # The clock of counting to that of the wall.
    offset_ns = time.time_ns() - time.perf_counter_ns()
    spans: list[Span] = []
    for one in counts:
        taken = [one.traced.popleft() for _ in range(min(len(one.traced), MOST_TRACED))]
        spans += [span for each in taken if (span := span_of(each, offset_ns)) is not None]
    if not spans:
        return 0
    data = packed(spans, site.link.node.node_id, site.link.node.cluster_id)
    try:
        await trio.to_thread.run_sync(post, endpoint, data, _PROTOBUF, abandon_on_cancel=True)
    except (OSError, ValueError) as failed:
        site.journal.warning("spans lost", count=len(spans), reason=failed)
        return 0
    return len(spans)


def span_of(traced: Traced, offset_ns: int) -> Span | None:
    """None for what cannot be read: its client has heard of that."""
    try:
        header, at = read_request_header(traced.request)
        body = decode_request(header.api_key, header.api_version, traced.request[at:])
    except Corrupt:
        return None
    topics, parent = _looked_at(header.api_key, body)
    operation = _NAMES[header.api_key]
    attributes = {
        "messaging.system": "kafka",
        "messaging.operation.name": operation,
        "messaging.destination.name": topics,
        "messaging.client.id": header.client_id or "",
        "client.address": traced.peer.host,
        "kafkapy.listener": traced.peer.listener,
        "enduser.id": traced.peer.principal,
    }
    trace, parent_span = parent or (os.urandom(16), b"")
    began, ended = (int(one * 1e9) + offset_ns for one in (traced.began, traced.ended))
    return Span(trace, parent_span, f"{operation} {topics}".strip(), began, ended, attributes)


def _looked_at(api_key: int, body: Any) -> tuple[str, tuple[bytes, bytes] | None]:
    """The topics, and what the first record says of its trace. Newer requests name topics by id."""
    topics = body.topic_data if api_key == ApiKey.PRODUCE else body.topics
    names = [
        str(getattr(one, "name", None) or getattr(one, "topic", None) or one.topic_id)
        for one in topics
    ]
    parent = None
    if api_key == ApiKey.PRODUCE:
        for topic in topics:
            for partition in topic.partition_data:
                parent = parent or _traceparent(bytes(partition.records or b""))
    return ",".join(names), parent


def _traceparent(records: bytes) -> tuple[bytes, bytes] | None:
    try:
        for position, header in batch.batches(records):
            whole = records[position : position + header.size]
            for record in islice(batch.records(whole), 1):
                for name, value in record.headers:
                    found = _TRACEPARENT.fullmatch(value or b"")
                    if str(name).lower() == "traceparent" and found is not None:
                        return bytes.fromhex(found[1].decode()), bytes.fromhex(found[2].decode())
    except Corrupt:
        pass
    return None


def packed(spans: list[Span], node_id: int, cluster_id: str) -> bytes:
    """OpenTelemetry's ExportTraceServiceRequest."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    about = {
        "service.name": "kafkapy",
        "service.version": __version__,
        "service.instance.id": f"{cluster_id}/{node_id}",
    }
    for key, value in about.items():
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_spans.add()
    scope.scope.name = "kafkapy"
    for one in spans:
        span = scope.spans.add(
            trace_id=one.trace,
            span_id=os.urandom(8),
            parent_span_id=one.parent,
            name=one.name,
            kind=_SERVER_SPAN,
            start_time_unix_nano=one.began_ns,
            end_time_unix_nano=one.ended_ns,
        )
        for key, value in one.attributes.items():
            span.attributes.add(key=key).value.string_value = value
    return bytes(request.SerializeToString())
