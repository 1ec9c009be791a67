"""Clients of a simulated node: real frames in, real frames out, no sockets.

A request is encoded as clients do, served in a turn (`reactor.py`) by `broker/dispatch`, and
what comes back is decoded from its bytes when the turn lets its answers leave. The buffer of
the request is spoiled as soon as the handler has returned: a shell reuses it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.apis import find_api
from kafkapy.broker.requests.dispatch import dispatch, encode
from kafkapy.broker.requests.request import Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.core.seams import Callback
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.promises.answers import AnswersPromise, Promised
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.power import Power
from kafkapy.sim.world.reactor import SimReactor

_SPOILED = 0xEE


class HungUp(Exception):
    """The node closed the connection instead of answering."""


class Disconnected(HungUp):
    """What the answer promised could not be written."""


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

    def __init__(
        self,
        node: Node,
        reactor: SimReactor,
        promise: AnswersPromise,
        power: Power,
        trace: Trace,
        listener: str = "PLAINTEXT",
    ) -> None:
        self._node = node
        self._reactor = reactor
        self._promise = promise
        self._power = power
        self._trace = trace
        self._waiting: dict[Pending, None] = {}  # not answered
        self._peer = Peer(listener, "127.0.0.1")
        self._correlation_id = 0

    def send(
        self,
        api_key: ApiKey,
        version: int,
        body: Mapping[str, Any],
        then: OnAnswer | None = None,
    ) -> Pending:
        """Hand the request over; answered later, or never (acks=0)."""
        self._correlation_id = correlation_id = self._correlation_id + 1
        pending = Pending(api_key, version, body, then)
        head = request_head(api_key, version, correlation_id, "sim")
        request = bytearray(head + encode_request(api_key, version, body))
        self._waiting[pending] = None
        self._reactor.arrives(partial(self._serve, request, correlation_id, pending))
        return pending

    def disconnect(self) -> None:
        """As the shell does when a turn has lost what was appended: whoever waits hears no more.
        What waits for something else, a flush say, may promise what was lost as well."""
        waiting, self._waiting = self._waiting, {}
        for pending in waiting:
            pending.resolve(Disconnected())

    def _serve(self, request: bytearray, correlation_id: int, pending: Pending) -> None:
        if pending.is_answered:
            return  # disconnected
        name = pending.api_key.name
        self._trace.note("request", name, pending.version, len(request), data=bytes(request))
        call, answer = dispatch(self._node, memoryview(request), self._peer)
        request[:] = bytes([_SPOILED]) * len(request)
        answered = partial(self._answered, pending, correlation_id, call)
        if isinstance(answer, Later):
            answer.when_resolved(lambda later: answered(later.answer))
        else:
            answered(answer)

    def _answered(
        self, pending: Pending, correlation_id: int, call: Call[Any], answer: Resolved
    ) -> None:
        if pending.is_answered:
            return  # disconnected
        if answer is None:
            del self._waiting[pending]
            return
        # As a connection does: slices of files are read before the answer waits.
        if isinstance(answer, Hangup):
            arrive = partial(pending.resolve, HungUp(str(answer)))
        else:
            response = _joined(call, answer)
            arrive = partial(self._arrived, pending, correlation_id, response)
        promised = self._promise.answer_is_there()
        self._reactor.turn.answer(partial(self._leave, pending, promised, arrive))

    def _leave(self, pending: Pending, promised: Promised, arrive: Callback) -> None:
        self._promise.answer_leaves(promised, pending.api_key.name)
        if pending.is_answered:
            return  # disconnected by what came after the answer
        self._power("answer", pending.api_key.name, 0)
        del self._waiting[pending]
        arrive()

    def _arrived(self, pending: Pending, correlation_id: int, response: bytes) -> None:
        api_key, version = pending.api_key, pending.version
        self._trace.note("answer", api_key.name, len(response), data=response)
        frame = memoryview(response)[4:]
        assert len(frame) == int.from_bytes(response[:4]), (api_key, len(response))
        answers, body_at = read_response_head(api_key, version, frame)
        assert answers == correlation_id, (answers, correlation_id, api_key)
        pending.resolve(decode_response(api_key, version, frame[body_at:]))


def latest_version(api_key: ApiKey) -> int:
    """The newest version that is served."""
    api = find_api(api_key, is_controller=False)
    assert api is not None, api_key
    return api.max_version


def _joined(call: Call[Any], answer: Encoded | Mapping[str, Any]) -> bytes:
    parts = []
    for part in encode(call, answer):
        if isinstance(part, bytes | bytearray | memoryview):
            parts.append(bytes(part))
        else:
            parts.append(part.read())
            part.release()
    return b"".join(parts)
