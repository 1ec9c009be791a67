"""A Produce of which one topic is refused: the others are written and answered as ever."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkapy.broker.requests.request import Answer, Call, Hangup, Resolved
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.framing import request_head
from kafkapy.protocol.messages import encode_request
from kafkapy.testing.gate.answers import decoded, then
from kafkapy.testing.gate.refusals import refuse, tree_of


def refuse_topics(
    call: Call[Any],
    is_refused: Callable[[Any], bool],
    code: ErrorCode,
    serve: Callable[[memoryview], Answer],
) -> Answer:
    """`is_refused` is asked of each topic of the request. What is left of it goes to the broker."""
    body = call.body
    topics = body.topic_data
    refused = [is_refused(topic) for topic in topics]
    rest = tuple(topic for topic, is_gone in zip(topics, refused, strict=True) if not is_gone)
    rows = refuse(call.api_key, call.version, body, code)["responses"]

    def joined(resolved: Resolved) -> Resolved:
        if isinstance(resolved, Hangup):
            return resolved
        if body.acks == 0:
            return Hangup(f"a topic of the request is refused with {code.name}")
        tree: dict[str, Any] = tree_of(decoded(call, resolved))
        served = iter(tree["responses"])
        tree["responses"] = [
            row if is_gone else next(served) for row, is_gone in zip(rows, refused, strict=True)
        ]
        return tree

    head = request_head(call.api_key, call.version, call.correlation_id, call.client_id)
    request = head + encode_request(call.api_key, call.version, replace(body, topic_data=rest))
    return then(serve(memoryview(request).toreadonly()), joined)
