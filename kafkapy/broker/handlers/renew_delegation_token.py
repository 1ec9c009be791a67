"""RenewDelegationToken, v1-2: until when a token is good, from now on, within its lifetime."""

from typing import TYPE_CHECKING, Final

from kafkapy.broker.controller.ask import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import millis
from kafkapy.broker.security.delegation_tokens import may_ask_about_tokens
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.delegation_tokens import RenewToken

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.renew_delegation_token.v2.request import RenewDelegationTokenRequest

    from kafkapy.broker.requests.needs import HasConfig, HasController

    class Needs(HasConfig, HasController, Protocol): ...


# Times in the answer: nobody came to looking for it, or the controller would not.
_NOT_ASKED: Final = -1
_NOT_CHANGED: Final = 0


def handle(node: "Needs", call: "Call[RenewDelegationTokenRequest]") -> Answer:
    if not may_ask_about_tokens(node.config, call.peer):
        return _response(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, _NOT_ASKED)
    body = call.body
    return ask(
        node,
        RenewToken(call.peer.principal, millis(body.renew_period), bytes(body.hmac)),
        lambda reply: _response(ErrorCode.NONE, reply.at),
        lambda refused: _response(refused.code, _NOT_CHANGED),
    )


def _response(code: ErrorCode, expiry: int) -> Fields:
    return {"error_code": code, "expiry_timestamp": expiry, "throttle_time": 0}
