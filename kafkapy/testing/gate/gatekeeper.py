"""Where requests pass by the test: written down, and hit by a fault if one is due.

request -> known to the release we pass for? -> describe -> a fault?
                            no: as it would          no   -> the broker
                                                     yes  -> refuse | never answer | hang up
                                                             | answer late | half | hold
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import trio

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.apis import find_api
from kafkapy.broker.requests.request import Answer, Call, Encoded, Hangup, Later, Peer, Resolved
from kafkapy.core.errors import ErrorCode
from kafkapy.core.time import later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import RequestHeader, read_request_header
from kafkapy.protocol.messages import decode_request
from kafkapy.testing.gate.answers import decoded, frame_of, then
from kafkapy.testing.gate.faults import Fault, Faults, Instead
from kafkapy.testing.gate.partly import refuse_topics
from kafkapy.testing.gate.refusals import refuse, refuse_fetch, replace_codes
from kafkapy.testing.gate.releases import Release
from kafkapy.testing.gate.requests import Request, Requests, topic_name
from kafkapy.testing.node.shell import Next, TestShell


class Gatekeeper:
    """One a broker, for all its restarts. `faults`: the first that has one for a request."""

    def __init__(
        self, faults: Sequence[Faults], requests: Requests, release: Release | None
    ) -> None:
        self._faults = faults
        self._requests = requests
        self._release = release

    def __call__(
        self, shell: TestShell, request: memoryview, peer: Peer, serve: Next
    ) -> tuple[Call[Any], Answer]:
        header, body_at = read_request_header(request)
        release = None if peer.is_controller_listener else self._release
        if release is not None:
            refused = _unknown_to(release, header, peer, shell.node)
            if refused is not None:
                return refused
        api = find_api(header.api_key, is_controller=peer.is_controller_listener)
        if api is None or not api.min_version <= header.api_version <= api.max_version:
            return serve(request, peer)
        body = decode_request(header.api_key, header.api_version, request[body_at:])
        seen = self._requests.describe(shell.node, api.key, header, body, peer)
        found = (one.find(seen) for one in self._faults)
        fault = next((one for one in found if one is not None), None)
        if fault is None:
            self._requests.seen.append(seen)
            call, answer = serve(request, peer)
        else:
            self._requests.seen.append(seen._replace(fault=str(fault)))
            call = Call(*header, body, peer, shell.node.clock.now())
            call, answer = self._hit(shell, call, request, serve, seen, fault)
        if release is not None and header.api_key == ApiKey.API_VERSIONS:
            answer = then(answer, release.advertise)
        return call, answer

    def _hit(
        self,
        shell: TestShell,
        call: Call[Any],
        request: memoryview,
        serve: Next,
        seen: Request,
        fault: Fault,
    ) -> tuple[Call[Any], Answer]:
        """What `fault` makes of the request of `call`."""
        peer = call.peer
        answer: Answer
        if fault.instead is Instead.DISCONNECT:
            raise Hangup(f"{fault}")
        if fault.instead is Instead.HOLD:
            # The connection reads its next bytes over these.
            kept = bytes(request)
            answer = _held(shell, fault, lambda: serve(memoryview(kept), peer)[1])
        elif fault.instead is Instead.DROP:
            answer = Later()
        elif fault.instead is Instead.ERROR and _has_others(call, seen, fault):
            answer = refuse_topics(
                call,
                lambda topic: topic_name(shell.node, topic) == fault.topic,
                fault.code,
                lambda rest: serve(rest, peer)[1],
            )
        elif fault.instead is Instead.ERROR and call.api_key != ApiKey.METADATA:
            answer = self._refused(shell.node, call, seen, fault)
        else:
            call, answer = serve(request, peer)
        if fault.delay_ms:
            answer = _delayed(shell.node, answer, fault.delay_ms)
        if fault.instead is Instead.ERROR and call.api_key == ApiKey.METADATA:
            answer = then(answer, lambda resolved: _failed_metadata(call, resolved, fault))
        elif fault.instead is Instead.LOSE_ANSWER:
            answer = then(answer, lambda _: Hangup(f"{fault}"))
        elif fault.instead is Instead.TEAR:
            answer = then(answer, lambda resolved: _torn(shell, call, resolved, fault))
        return call, answer

    def _refused(self, node: Node, call: Call[Any], seen: Request, fault: Fault) -> Answer:
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


def _unknown_to(
    release: Release, header: RequestHeader, peer: Peer, node: Node
) -> tuple[Call[Any], Answer] | None:
    """What a broker of that release does with a request it does not know."""
    if release.serves(header.api_key, header.api_version):
        return None
    if header.api_key != ApiKey.API_VERSIONS:
        raise Hangup(
            f"Kafka {release.name} does not know API {header.api_key} in version "
            f"{header.api_version}"
        )
    # In a version that every client can read (KIP-511).
    call = Call(*header, None, peer, node.clock.now())
    call.version = 0
    return call, {"error_code": ErrorCode.UNSUPPORTED_VERSION, "api_keys": release.own_row()}


def _has_others(call: Call[Any], seen: Request, fault: Fault) -> bool:
    """Whether it produces to other topics, too, than the one that the fault is about."""
    if call.api_key != ApiKey.PRODUCE or fault.topic is None:
        return False
    return any(topic != fault.topic for topic in seen.topics)


def _torn(shell: TestShell, call: Call[Any], resolved: Resolved, fault: Fault) -> Resolved:
    frame = b"" if isinstance(resolved, Hangup) else frame_of(call, resolved)
    if not frame:
        return Hangup(f"{fault}")
    shell.hang_up(call.peer, f"{fault}")
    return Encoded([frame[: len(frame) // 2]])


def _failed_metadata(call: Call[Any], resolved: Resolved, fault: Fault) -> Resolved:
    answer = decoded(call, resolved)

    def applies(topic: dict[str, Any]) -> bool:
        return fault.topic in (None, topic["name"])

    tree: dict[str, Any] = replace_codes(answer, fault.code, applies)
    return tree


def _held(shell: TestShell, fault: Fault, serve: Callable[[], Answer]) -> Later:
    promise = Later()

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
            shell.reactor.run_soon(on_loop)

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
