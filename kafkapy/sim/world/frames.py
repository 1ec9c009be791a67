"""Clients of a simulated node: real frames in, real frames out, no sockets.

A request is encoded as clients do, handed to `broker/dispatch`, and what comes back is
decoded from its bytes. The buffer of the request is spoiled as soon as the handler has
returned: a shell reuses it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.apis import find_api
from kafkapy.broker.requests.dispatch import dispatch, encode
from kafkapy.broker.requests.request import Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.world.journal import Trace

_SPOILED = 0xEE


class HungUp(Exception):
    """The node closed the connection instead of answering."""


class Pending:
    """A request on its way. `then` runs once, with the answer; never if the node dies."""

    __slots__ = ("answer", "api_key", "body", "is_answered", "then", "version")

    def __init__(
        self, api_key: ApiKey, version: int, body: Mapping[str, Any], then: "OnAnswer | None"
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.body = body
        self.then = then
        self.answer: Any = None
        self.is_answered = False

    def resolve(self, answer: Any) -> None:
        self.answer = answer
        self.is_answered = True
        if self.then is not None:
            self.then(self)


OnAnswer = Callable[[Pending], None]


class Wire:
    """One connection to a node, for as long as that lives."""

    def __init__(self, node: Node, trace: Trace, listener: str = "PLAINTEXT") -> None:
        self._node = node
        self._trace = trace
        self._peer = Peer(listener, "127.0.0.1")
        self._correlation_id = 0

    def send(
        self,
        api_key: ApiKey,
        version: int,
        body: Mapping[str, Any],
        then: OnAnswer | None = None,
    ) -> Pending:
        """Hand the request over; answered at once, later, or never (acks=0)."""
        self._correlation_id = correlation_id = self._correlation_id + 1
        pending = Pending(api_key, version, body, then)
        head = request_head(api_key, version, correlation_id, "sim")
        request = bytearray(head + encode_request(api_key, version, body))
        self._trace.note("request", api_key.name, version, len(request), data=bytes(request))
        call, answer = dispatch(self._node, memoryview(request), self._peer)
        request[:] = bytes([_SPOILED]) * len(request)
        answered = partial(self._answered, pending, correlation_id, call)
        if isinstance(answer, Later):
            answer.when_resolved(lambda later: answered(later.answer))
        else:
            answered(answer)
        return pending

    def _answered(
        self, pending: Pending, correlation_id: int, call: Call, answer: Resolved
    ) -> None:
        if answer is None:
            return
        if isinstance(answer, Hangup):
            pending.resolve(HungUp(str(answer)))
            return
        response = _joined(call, answer)
        self._trace.note("answer", pending.api_key.name, len(response), data=response)
        frame = memoryview(response)[4:]
        assert len(frame) == int.from_bytes(response[:4]), (pending.api_key, len(response))
        answers, body_at = read_response_head(call.api_key, call.version, frame)
        assert answers == correlation_id, (answers, correlation_id, call)
        pending.resolve(decode_response(call.api_key, call.version, frame[body_at:]))


def latest_version(api_key: ApiKey) -> int:
    """The newest version that is served."""
    api = find_api(api_key, is_controller=False)
    assert api is not None, api_key
    return api.max_version


def _joined(call: Call, answer: Encoded | Mapping[str, Any]) -> bytes:
    parts = []
    for part in encode(call, answer):
        if isinstance(part, bytes | bytearray | memoryview):
            parts.append(bytes(part))
        else:
            parts.append(part.read())
            part.release()
    return b"".join(parts)
