"""One client's request on its way to the active controller, until that has answered it.

    envelope --> NOT_CONTROLLER, or nobody there --> a moment later, to whoever leads then
             \\-> answered                        \\-> the time is up: REQUEST_TIMED_OUT

What broke on the way may have been carried out: it is asked again all the same, as Kafka does;
a topic that exists by then says so. A node that leads itself answers in the process; if it stops
leading before it has, the next one is asked.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from kafkapy.broker.controller.envelope import envelope_fields, unwrapped
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.peers.failures import CallFailed
from kafkapy.broker.requests.dispatch import refusal
from kafkapy.broker.requests.request import Call, Encoded, Hangup, Later, Resolved
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.seams import Clock
from kafkapy.core.time import later
from kafkapy.protocol.framing import read_request_header
from kafkapy.protocol.messages import decode_request

RETRY_MS: Final = 50


class Sends(Protocol):
    def send_envelope(
        self, fields: Mapping[str, Any], then: Callable[[Any], None], timeout_ms: int
    ) -> None:
        """`then` gets the response or CallFailed; None, at once, if nobody leads."""


class Forwarding:
    def __init__(
        self,
        request: memoryview,
        call: "Call[Any]",
        *,
        remote: Sends,
        local: LocalController | None,
        clock: Clock,
        timeout_ms: int,
    ) -> None:
        self.answer = Later()
        self._fields = envelope_fields(request, call.peer)
        self._call = call
        self._remote = remote
        self._local = local
        self._clock = clock
        self._deadline = later(clock.now(), timeout_ms)
        self._is_fresh = True

    def begin(self) -> Later:
        self._attempt()
        self._is_fresh = False
        return self.answer

    def _attempt(self) -> None:
        left_ms = self._deadline - self._clock.now()
        if left_ms <= 0:
            self.answer.resolve(self._too_late())
        elif self._local is not None and self._local.is_active:
            self._ask_here(self._local)
        else:
            self._remote.send_envelope(self._fields, self._answered, left_ms)

    def _ask_here(self, local: LocalController) -> None:
        request = memoryview(self._fields["request_data"])
        if not self._is_fresh:  # the frame that its body was read from is gone
            header, at = read_request_header(request)
            self._call.body = decode_request(header.api_key, header.api_version, request[at:])
        try:
            answer = local.forward(request, self._call)
        except Refused as refused:
            answer = self._refusal(refused)
        if isinstance(answer, Later):
            answer.when_resolved(lambda resolved: self._answered_here(local, resolved.answer))
        else:
            self._answered_here(local, answer)

    def _answered_here(self, local: LocalController, answer: Resolved) -> None:
        if not local.is_active and says_not_controller(answer):
            self._again()
        else:
            self.answer.resolve(answer)

    def _answered(self, answer: Any) -> None:
        lost = answer is None or isinstance(answer, CallFailed)
        if lost or answer.error_code == ErrorCode.NOT_CONTROLLER:
            self._again()
        elif answer.error_code:
            code = ErrorCode(int(answer.error_code))
            self.answer.resolve(Hangup(f"the controller refused an envelope: {code.name}"))
        else:
            try:
                parts = unwrapped(answer, self._call)
            except Corrupt as nonsense:
                self.answer.resolve(Hangup(str(nonsense)))
            else:
                self.answer.resolve(Encoded(parts))

    def _again(self) -> None:
        self._clock.call_at(later(self._clock.now(), RETRY_MS), self._attempt)

    def _too_late(self) -> Resolved:
        return self._refusal(Refused(ErrorCode.REQUEST_TIMED_OUT))

    def _refusal(self, refused: Refused) -> Resolved:
        try:
            return refusal(self._call, refused)
        except Hangup as silent:  # the answer has no place for it
            return silent


def says_not_controller(answer: Any) -> bool:
    """Whether a controller that stopped leading gave up any of what it was asked. What it had
    done by then, it has done."""
    if isinstance(answer, Mapping):
        return answer.get("error_code") == ErrorCode.NOT_CONTROLLER or any(
            says_not_controller(one) for one in answer.values()
        )
    return isinstance(answer, list | tuple) and any(map(says_not_controller, answer))
