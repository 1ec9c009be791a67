"""Renewing and expiring a delegation token: the same question with another event, one answer."""

from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.controller.ask import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.delegation_tokens import may_ask_about_tokens
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.access.delegation_tokens import ExpireToken, RenewToken

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasConfig, HasController

    class Needs(HasConfig, HasController, Protocol): ...


# Times in the answer: nobody came to looking for it, or the controller would not.
_NOT_ASKED: Final = -1
_NOT_CHANGED: Final = 0


def change(node: "Needs", call: Call[Any], event: ExpireToken | RenewToken) -> Answer:
    if not may_ask_about_tokens(node.config, call.peer):
        return _response(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, _NOT_ASKED)
    return ask(
        node,
        event,
        lambda reply: _response(ErrorCode.NONE, reply.at),
        lambda refused: _response(refused.code, _NOT_CHANGED),
    )


def _response(code: ErrorCode, expiry: int) -> Fields:
    return {"error_code": code, "expiry_timestamp": expiry, "throttle_time": 0}
