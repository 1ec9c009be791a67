"""Where requests pass by the test: written down, and hit by a fault if one is due.

request -> describe -> a fault?  no   -> the broker
                                 yes  -> refuse | never answer | hang up | answer late | hold
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import trio

from kafkapy.broker.apis import find_api
from kafkapy.broker.call import Answer, Call, Hangup, Later, Peer, Resolved
from kafkapy.broker.dispatch import encode
from kafkapy.broker.node import Node
from kafkapy.core.time import later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_request_header, read_response_head
from kafkapy.protocol.messages import decode_request, decode_response
from kafkapy.testing.faults import Fault, Faults, Instead
from kafkapy.testing.refusals import refuse, refuse_fetch, replace_codes
from kafkapy.testing.requests import Request, Requests
from kafkapy.testing.shell import Next


class Gatekeeper:
    """One a broker, for all its restarts."""

    def __init__(self, faults: Faults, requests: Requests) -> None:
        self._faults = faults
        self._requests = requests

    def __call__(
        self, node: Node, request: memoryview, peer: Peer, serve: Next
    ) -> tuple[Call, Answer]:
        header, body_at = read_request_header(request)
        api = find_api(header.api_key, is_controller=peer.is_controller_listener)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            return serve(request, peer)
        body = decode_request(header.api_key, header.api_version, request[body_at:])
        seen = self._requests.describe(node, api.key, header, body, peer)
        fault = self._faults.find(seen)
        if fault is None:
            self._requests.seen.append(seen)
            return serve(request, peer)
        self._requests.seen.append(seen._replace(fault=str(fault)))
        if fault.instead is Instead.DISCONNECT:
            raise Hangup(f"{fault}")
        answer: Answer
        if fault.instead is Instead.HOLD:
            call = Call(*header, None, peer, node.clock.now())
            # The connection reads its next bytes over these.
            kept = bytes(request)
            answer = _held(fault, lambda: serve(memoryview(kept), peer)[1])
        elif fault.instead in (Instead.NOTHING, Instead.LOSE_ANSWER):
            call, answer = serve(request, peer)
        elif fault.instead is Instead.ERROR and header.api_key == ApiKey.METADATA:
            call, answer = serve(request, peer)
            answer = _then(answer, lambda resolved: _failed_metadata(call, resolved, fault))
        else:
            call = Call(*header, body, peer, node.clock.now())
            answer = Later()
            if fault.instead is Instead.ERROR:
                answer = self._refused(node, call, seen, fault)
        if fault.instead is Instead.LOSE_ANSWER:
            answer = _then(answer, lambda _: Hangup(f"{fault}"))
        if fault.delay_ms:
            answer = _delayed(node, answer, fault.delay_ms)
        return call, answer

    def _refused(self, node: Node, call: Call, seen: Request, fault: Fault) -> Answer:
        body = call.body
        if call.api_key == ApiKey.PRODUCE and body.acks == 0:
            return Hangup(f"{fault}")  # no answer to tell it by
        if call.api_key != ApiKey.FETCH:
            return refuse(call.api_key, call.version, body, fault.code)
        fetched: dict[tuple[str, Any], set[int]] = {}
        for name, indexes in self._requests.fetched(call.peer).items():
            topic = node.image.topics_by_name.get(name)
            if fault.topic in (None, name):
                fetched[name, None if topic is None else topic.id] = indexes
        return refuse_fetch(call.version, body, fetched, fault.code)


def _failed_metadata(call: Call, resolved: Resolved, fault: Fault) -> Resolved:
    frame = b"".join(
        part if isinstance(part, bytes) else part.read() for part in encode(call, resolved)
    )
    view = memoryview(frame)[4:]
    _, body_at = read_response_head(call.api_key, call.version, view)
    answer = decode_response(call.api_key, call.version, view[body_at:])

    def applies(topic: dict[str, Any]) -> bool:
        return fault.topic in (None, topic["name"])

    tree: dict[str, Any] = replace_codes(answer, fault.code, applies)
    return tree


def _then(answer: Answer, change: Callable[[Resolved], Resolved]) -> Answer:
    """`answer` with `change` applied to it, now or once it is there."""
    if not isinstance(answer, Later):
        return change(answer)
    promise = Later()
    answer.when_resolved(lambda resolved: promise.resolve(change(resolved.answer)))
    return promise


def _held(fault: Fault, serve: Callable[[], Answer]) -> Later:
    promise = Later()
    token = trio.lowlevel.current_trio_token()

    def on_loop() -> None:
        try:
            answer = serve()
        except Hangup as hangup:
            answer = hangup
        if isinstance(answer, Later):
            answer.when_resolved(lambda resolved: promise.resolve(resolved.answer))
        else:
            promise.resolve(answer)

    def release() -> None:
        with suppress(trio.RunFinishedError):  # stopped meanwhile, and its clients with it
            token.run_sync_soon(on_loop)

    fault.keep(release)
    return promise


def _delayed(node: Node, answer: Answer, delay_ms: int) -> Answer:
    promise = Later()

    def arrived(resolved: Resolved) -> None:
        when = later(node.clock.now(), delay_ms)
        node.clock.call_at(when, partial(promise.resolve, resolved))

    if isinstance(answer, Later):
        answer.when_resolved(lambda resolved: arrived(resolved.answer))
    else:
        arrived(answer)
    return promise
