"""Envelope, v0, on controllers: a client's request that a broker handed on (KIP-590).

It is handled as if the client had asked here, under its own principal and address; what only
brokers serve, or what is not for handing on, is refused.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.controller.envelope import address_from, principal_from
from kafkapy.broker.controller.forwarding import says_not_controller
from kafkapy.broker.requests.apis import Api, find_api
from kafkapy.broker.requests.dispatch import encode_or_hang_up, refusal
from kafkapy.broker.requests.request import Answer, Call, Fields, Hangup, Later, Peer, Resolved
from kafkapy.broker.security.authorizer.needs import check
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.messages import decode_request

if TYPE_CHECKING:
    from kafkapy.broker.node.controller_role import ControllerRole

_SIZE_BYTES = 4


def handle(role: "ControllerRole", call: "Call[Any]") -> Answer:
    try:
        peer = _client(call)
    except Corrupt:
        return _error(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
    inner, api = _opened(call, peer)
    if not role.controller.is_active:
        return _error(ErrorCode.NOT_CONTROLLER)
    try:
        if role.authorizer is not None:
            check(role, api.permission, inner)
        answer = api.handle(role, inner)
    except Refused as refused:
        answer = refusal(inner, refused)
    if not isinstance(answer, Later):
        return _wrapped(role, inner, answer)
    promise = Later()
    answer.when_resolved(lambda later: promise.resolve(_wrapped(role, inner, later.answer)))
    return promise


def _client(call: "Call[Any]") -> Peer:
    """Who asked, and from where; Corrupt if that cannot be told."""
    if call.body.request_principal is None:
        raise Corrupt("an envelope without a principal")
    principal, is_by_token = principal_from(bytes(call.body.request_principal))
    return Peer(
        call.peer.listener,
        address_from(bytes(call.body.client_host_address)),
        principal=principal,
        is_controller_listener=True,
        is_by_token=is_by_token,
        is_handed_on=True,
    )


def _opened(call: "Call[Any]", peer: Peer) -> "tuple[Call[Any], Api]":
    """What the client asked, and who answers it. Refused if that is not for handing on."""
    request = memoryview(bytes(call.body.request_data))
    try:
        header, at = read_request_header(request)
    except Corrupt as nothing:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION) from nothing
    api = find_api(header.api_key, is_controller=True)
    if api is None or not api.is_forwarded:
        raise Refused(ErrorCode.INVALID_REQUEST)
    if not api.min_version <= header.api_version <= api.max_version:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    inner = Call(
        header.api_key,
        header.api_version,
        header.correlation_id,
        header.client_id,
        decode_request(header.api_key, header.api_version, request[at:]),
        peer,
        call.received,
    )
    return inner, api


def _wrapped(role: "ControllerRole", inner: "Call[Any]", answer: Resolved) -> Fields:
    """If it stopped leading before it was done the broker asks the next one."""
    if not role.controller.is_active and says_not_controller(answer):
        return _error(ErrorCode.NOT_CONTROLLER)
    try:
        encoded = encode_or_hang_up(role.journal, inner, answer)
    except Hangup:  # the broker hangs up on its client
        return _error(ErrorCode.INVALID_REQUEST)
    parts = []
    for part in encoded:
        assert isinstance(part, bytes), (inner.api_key, "answers of controllers are in memory")
        parts.append(part)
    return {"response_data": b"".join(parts)[_SIZE_BYTES:], "error_code": ErrorCode.NONE}


def _error(code: ErrorCode) -> Fields:
    return {"response_data": None, "error_code": code}
