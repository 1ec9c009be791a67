"""CreateDelegationToken, v1-3. v3 names an owner other than who asks (KIP-373)."""

from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.controller.ask import ask
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.broker.security.delegation_tokens import may_ask_about_tokens
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.controller.access.delegation_tokens import CreateToken, TokenMade
from kafkapy.kraft.delegation_tokens import USER_TYPE

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.create_delegation_token.v3.request import CreateDelegationTokenRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasController

    class Needs(HasAuthorizer, HasConfig, HasController, Protocol): ...


# Times in the answer: nobody came to making one, or the controller would not.
_NOT_ASKED: Final = -1
_NOT_MADE: Final = 0
_NO_ID: Final = ""


def handle(node: "Needs", call: "Call[CreateDelegationTokenRequest]") -> Answer:
    body, requester = call.body, call.peer.principal
    owner = _owner(body) or requester
    refusal = _refusal(node, call, owner)
    if refusal is not None:
        return _response(owner, requester, refusal, _NOT_ASKED)
    renewers = tuple(f"{one.principal_type}:{one.principal_name}" for one in body.renewers)
    event = CreateToken(requester, owner, renewers, millis(body.max_lifetime))
    return ask(
        node,
        event,
        lambda reply: _made(reply, owner, requester),
        lambda refused: _response(owner, requester, refused.code, _NOT_MADE),
    )


def _owner(body: Any) -> str | None:
    name = optional(body, "owner_principal_name", None)
    return f"{body.owner_principal_type}:{name}" if name else None


def _refusal(node: "Needs", call: "Call[Any]", owner: str) -> ErrorCode | None:
    if not may_ask_about_tokens(node.config, call.peer):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    is_own = owner == call.peer.principal
    if not is_own and not allows(node, call, Operation.CREATE_TOKENS, ResourceType.USER, owner):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(one.principal_type != USER_TYPE for one in call.body.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return None


def _made(made: TokenMade, owner: str, requester: str) -> Fields:
    token = made.token
    return {
        **_response(owner, requester, ErrorCode.NONE, token.issue_timestamp),
        "expiry_timestamp": token.expiration_timestamp,
        "max_timestamp": token.max_timestamp,
        "token_id": token.token_id,
        "hmac": made.hmac,
    }


def _response(owner: str, requester: str, code: ErrorCode, moment: int) -> Fields:
    kind, _, name = owner.partition(":")
    requester_kind, _, requester_name = requester.partition(":")
    return {
        "error_code": code,
        "principal_type": kind,
        "principal_name": name,
        "token_requester_principal_type": requester_kind,
        "token_requester_principal_name": requester_name,
        "issue_timestamp": moment,
        "expiry_timestamp": moment,
        "max_timestamp": moment,
        "token_id": _NO_ID,
        "hmac": b"",
        "throttle_time": 0,
    }
