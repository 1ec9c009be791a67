"""Requests of the test itself: the whole path of a client's, except for the socket.

They are neither written down nor hit by faults.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.dispatch import dispatch, encode
from kafkapy.broker.requests.request import Answer, Call, Later, Peer, Resolved
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

_CLIENT_ID = "kafkapy.testing"


def ask(
    node: Node, api: ApiKey, version: int, body: Mapping[str, Any], done: Callable[[Any], None]
) -> None:
    """On the broker's loop: `done` gets the decoded response."""
    head = request_head(api, version, 0, _CLIENT_ID)
    request = memoryview(frame(head, encode_request(api, version, body)))[4:]
    listener = node.config.listening.broker[0].name
    peer = Peer(listener, "127.0.0.1", software_name=_CLIENT_ID)
    call, answer = dispatch(node, request, peer)
    _when_resolved(answer, lambda resolved: done(_decoded(call, resolved)))


def _when_resolved(answer: Answer, then: Callable[[Resolved], None]) -> None:
    if isinstance(answer, Later):
        answer.when_resolved(lambda later: then(later.answer))
    else:
        then(answer)


def _decoded(call: Call[Any], resolved: Resolved) -> Any:
    data = bytearray()
    for part in encode(call, resolved):
        if isinstance(part, bytes):
            data += part
        else:
            data += part.read()
            part.release()
    view = memoryview(bytes(data))[4:]
    _, body_at = read_response_head(call.api_key, call.version, view)
    return decode_response(call.api_key, call.version, view[body_at:])


def check(code: int, about: str, message: str | None = None) -> None:
    """Raise Refused, in words, if `code` is an error."""
    if code:
        raise Refused(ErrorCode(code), f"{about}: {message}" if message else about)
