"""Topics that a client gets made without asking for them by name: made in its name (KIP-599).

    a member of a streams group heartbeats --> CreateTopics, as if it had sent it --> controller

So they count against the member's quota of controller mutations, and are refused, and tried again,
while that is used up. The version is one of those that are strict about it, as Apache Kafka's is.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.broker.controller.answers import decoded
from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.controller.questions import QUESTIONS
from kafkapy.broker.requests.dispatch import encode
from kafkapy.broker.requests.request import Call, Encoded, Hangup, Later, Resolved
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.topics.changes import CreateReply, CreateTopics
from kafkapy.protocol.framing import request_head
from kafkapy.protocol.messages import decode_request, encode_request

_QUESTION: Final = QUESTIONS[CreateTopics]
_VERSION: Final = _QUESTION.versions[1]
_LONGEST_CLIENT_ID: Final = 32_767


def create_topics(
    link: ControllerLink,
    event: CreateTopics,
    client: Call[Any],
    then: Callable[[CreateReply | Refused], None],
) -> None:
    """`client`: what it did ask for."""
    body = encode_request(_QUESTION.api, _VERSION, _QUESTION.fields(event))
    client_id = client.client_id
    if client_id is not None and len(client_id.encode()) > _LONGEST_CLIENT_ID:
        client_id = None  # what was not UTF-8 has grown: no header can hold it
    head = request_head(_QUESTION.api, _VERSION, client.correlation_id, client_id)
    call: Call[Any] = Call(
        _QUESTION.api,
        _VERSION,
        client.correlation_id,
        client_id,
        decode_request(_QUESTION.api, _VERSION, body),
        client.peer,
        client.received,
    )
    try:
        answer = link.forward(memoryview(head + body), call)
    except Refused as refused:
        then(refused)
        return
    if isinstance(answer, Later):
        answer.when_resolved(lambda later: then(_reply(event, call, later.answer)))
    else:
        then(_reply(event, call, answer))


def _reply(event: CreateTopics, call: Call[Any], answer: Resolved) -> CreateReply | Refused:
    if isinstance(answer, Mapping):
        answer = Encoded(encode(call, answer))
    if not isinstance(answer, Encoded):
        why = str(answer) if isinstance(answer, Hangup) else None
        return Refused(ErrorCode.NOT_CONTROLLER, why)
    reply: CreateReply = _QUESTION.reply(event, decoded(call, answer))
    return reply
