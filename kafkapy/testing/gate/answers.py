"""Answers that the broker gave, as somebody between it and its client changes them."""

from collections.abc import Callable
from typing import Any

from kafkapy.broker.requests.dispatch import encode
from kafkapy.broker.requests.request import Answer, Call, Later, Resolved
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.messages import decode_response


def then(answer: Answer, change: Callable[[Resolved], Resolved]) -> Answer:
    """`answer` with `change` applied to it, now or once it is there."""
    if not isinstance(answer, Later):
        return change(answer)
    promise = Later()
    answer.when_resolved(lambda resolved: promise.resolve(change(resolved.answer)))
    return promise


def frame_of(call: Call[Any], resolved: Resolved) -> bytes:
    parts = []
    for part in encode(call, resolved):
        if isinstance(part, bytes):
            parts.append(part)
        else:
            parts.append(part.read())
            part.release()
    return b"".join(parts)


def decoded(call: Call[Any], resolved: Resolved) -> Any:
    view = memoryview(frame_of(call, resolved))[4:]
    _, body_at = read_response_head(call.api_key, call.version, view)
    return decode_response(call.api_key, call.version, view[body_at:])
