"""From a frame to an answer, and from an answer to bytes.

The only place that knows about headers, unknown keys and versions, which sends to the active
controller what that alone decides, and the only one that turns `Refused` into an error code.
What closes a connection comes out as `Hangup` (we close, as Kafka does) or `Corrupt` (the
bytes are nonsense).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from traceback import format_exc
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin

from kafkapy.broker.produce.frame_cache import FrameCache, remember
from kafkapy.broker.quotas.charging import charge
from kafkapy.broker.quotas.client_quotas import ClientQuotas
from kafkapy.broker.requests.apis import Api, find_api
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Part, Peer, Resolved
from kafkapy.broker.security.authorizer.needs import check
from kafkapy.core.errors import CannotEncode, ErrorCode, Refused
from kafkapy.core.seams import Journal
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import RequestHeader, frame, read_request_header, response_head
from kafkapy.protocol.handwritten.fetch_request import decode_fetch_request
from kafkapy.protocol.handwritten.produce_request import decode_produce_request
from kafkapy.protocol.messages import decode_request, encode_response
from kafkapy.protocol.schemas.kio_schemas import load_response_schema

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node


def dispatch(node: "Node", request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
    """Decode one request (without its size prefix), hand it to its handler, and hold what it uses
    against its client's quotas, if there are any."""
    quotas: ClientQuotas | None = node.quotas
    began = 0.0
    if quotas is not None and quotas.has_time:
        began = quotas.ticks()
    broker = node.broker
    frames: FrameCache | None = peer.frames
    if frames is not None and broker is not None:
        served = frames.serve(broker, request)
        if served is not None:
            if quotas is None or frames.is_charged(quotas, len(request), began):
                return served
            call, answer = served
            return call, charge(node, quotas, request, began, call, answer)
    call, answer = _decode_and_handle(node, request, peer)
    if quotas is not None:
        answer = charge(node, quotas, request, began, call, answer)
    return call, answer


def dispatch_freely(node: "Node", request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
    """Somebody's who has no quotas: this node itself."""
    frames: FrameCache | None = peer.frames
    if frames is not None and node.broker is not None:
        served = frames.serve(node.broker, request)
        if served is not None:
            return served
    return _decode_and_handle(node, request, peer)


def _decode_and_handle(node: "Node", request: memoryview, peer: Peer) -> tuple[Call[Any], Answer]:
    broker = node.broker
    header, body_at = read_request_header(request)
    api = find_api(header.api_key, is_controller=peer.is_controller_listener)
    if api is None:
        raise Hangup(f"api key {header.api_key} is not served on listener {peer.listener}")
    call: Call[Any] = Call(
        header.api_key,
        header.api_version,
        header.correlation_id,
        header.client_id,
        None,
        peer,
        node.clock.now(),
    )
    if not api.min_version <= header.api_version <= api.max_version:
        return _wrong_version(node, api, call, header)
    body = request[body_at:]
    if header.api_key == ApiKey.PRODUCE:
        call.body = decode_produce_request(header.api_version, body)
        if broker is not None:
            remember(broker, request, body_at, call)
    elif header.api_key == ApiKey.FETCH and not peer.is_controller_listener:
        call.body = decode_fetch_request(header.api_version, body)
    else:
        call.body = decode_request(header.api_key, header.api_version, body)
    try:
        if api.is_forwarded and broker is not None and not peer.is_controller_listener:
            if api.handed_on_by is not None:
                return call, api.hand_on(broker, request, call)
            return call, broker.link.forward(request, call)
        if node.authorizer is not None:
            check(node, api.permission, call)
        if peer.is_controller_listener:
            return call, api.handle(node.controller, call)
        return call, api.handle(broker, call)
    except Refused as refused:
        return call, refusal(call, refused)
    except Hangup:
        raise
    except Exception as bug:
        # Ours, not the client's: say so with all there is, and give up this connection
        # only. What a stranger sends must not stop the node (docs/decisions/0004).
        raise _told(node.journal, call, bug) from bug


def encode(call: Call[Any], answer: Resolved) -> Sequence[Part]:
    """The bytes of a resolved answer; no bytes for None. Hangup: there are none, or it cannot be
    written (what it repeats of the request may be too long for its version)."""
    if isinstance(answer, Encoded):
        return answer.parts
    if answer is None:
        return ()
    if isinstance(answer, Hangup):
        raise answer
    head = response_head(call.api_key, call.version, call.correlation_id)
    try:
        return (frame(head, encode_response(call.api_key, call.version, answer)),)
    except CannotEncode as unwritable:
        raise Hangup(f"no answer can be written: {unwritable}") from unwritable


def encode_or_hang_up(journal: Journal, call: Call[Any], answer: Resolved) -> Sequence[Part]:
    """`encode`, where a bug in what a handler answers costs no more than one in the handler."""
    try:
        return encode(call, answer)
    except Hangup:
        raise
    except Exception as bug:
        raise _told(journal, call, bug) from bug


def _told(journal: Journal, call: Call[Any], bug: Exception) -> Hangup:
    api = find_api(call.api_key, is_controller=call.peer.is_controller_listener)
    assert api is not None, call.api_key  # it was dispatched
    journal.error("bug", api=api.key.name, version=call.version, trace=format_exc())
    return Hangup(f"a bug of kafkapy in {api.key.name}: {bug!r}")


def refusal(call: Call[Any], refused: Refused) -> Mapping[str, Any]:
    """A whole request refused: its code (and sentence) in the response's own error field."""
    fields = dict(_empty_response(call.api_key, call.version))
    if "error_code" not in fields:
        raise Hangup(str(refused)) from refused
    fields["error_code"] = refused.code
    if "error_message" in fields:
        fields["error_message"] = refused.message
    return fields


def _wrong_version(
    node: "Node", api: Api, call: Call[Any], header: RequestHeader
) -> tuple[Call[Any], Answer]:
    if header.api_key != ApiKey.API_VERSIONS:
        raise Hangup(f"{api.key.name} version {header.api_version} is not served")
    # A client that does not know our versions must be able to read this: v0, with error 35.
    call.version = 0
    rows = [{"api_key": api.key, "min_version": api.min_version, "max_version": api.max_version}]
    return call, {"error_code": ErrorCode.UNSUPPORTED_VERSION, "api_keys": rows}


@cache
def _empty_response(api_key: int, version: int) -> Mapping[str, Any]:
    """Every field of a response, arrays empty and the rest absent-like."""
    from dataclasses import MISSING, fields

    empty: dict[str, Any] = {}
    for field in fields(load_response_schema(api_key, version)):
        nullable = NoneType in get_args(field.type)
        if field.default is not MISSING and "tag" in field.metadata:
            continue
        if get_origin(field.type) is tuple:
            empty[field.name] = ()
        elif nullable:
            empty[field.name] = None
        elif field.metadata.get("kafka_type") == "string":
            empty[field.name] = ""
        elif field.metadata.get("kafka_type") == "bytes":
            empty[field.name] = b""
        elif field.name == "error_code" or field.default is MISSING:
            empty[field.name] = 0
    return empty
