"""DescribeDelegationToken, v1-3, from what this node knows. v3 tells who asked for the token.

Whoever owns or may renew a token sees it, HMAC and all; of others' tokens, whoever may DESCRIBE
that token or DESCRIBE_TOKENS of its owner. What may not be seen is left out.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.broker.security.delegation_tokens import may_ask_about_tokens
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.delegation_tokens import hmac_of, may_manage
from kafkapy.kraft.records.metadata import DelegationTokenRecord

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_delegation_token.v3.request import DescribeDelegationTokenRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasConfig, HasImage

    class Needs(HasAuthorizer, HasConfig, HasImage, Protocol): ...


def handle(node: "Needs", call: "Call[DescribeDelegationTokenRequest]") -> Answer:
    if not may_ask_about_tokens(node.config, call.peer):
        return _response(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    secret = node.config.delegation_token_secret_key
    if not secret:
        return _response(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    asked = call.body.owners
    owners = None if asked is None else [f"{o.principal_type}:{o.principal_name}" for o in asked]
    seen = [
        token
        for token in node.image.tokens.values()
        if owners is None or any(may_manage(token, owner) for owner in owners)
        if _may_see(node, call, token)
    ]
    return _response(ErrorCode.NONE, [_row(token, secret) for token in seen])


def _may_see(node: "Needs", call: "Call[Any]", token: DelegationTokenRecord) -> bool:
    if may_manage(token, call.peer.principal):
        return True
    of_token = (Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
    of_owner = (Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    return allows(node, call, *of_token) or allows(node, call, *of_owner)


def _row(token: DelegationTokenRecord, secret: str) -> Fields:
    kind, _, name = token.owner.partition(":")
    # Tokens of before KIP-373 do not say: their owners asked for them.
    requester_kind, _, requester_name = (token.requester or token.owner).partition(":")
    renewers = [one.partition(":") for one in token.renewers]
    return {
        "principal_type": kind,
        "principal_name": name,
        "token_requester_principal_type": requester_kind,
        "token_requester_principal_name": requester_name,
        "issue_timestamp": token.issue_timestamp,
        "expiry_timestamp": token.expiration_timestamp,
        "max_timestamp": token.max_timestamp,
        "token_id": token.token_id,
        "hmac": hmac_of(secret, token.token_id),
        "renewers": [{"principal_type": one[0], "principal_name": one[2]} for one in renewers],
    }


def _response(code: ErrorCode, tokens: "list[Fields] | tuple[()]" = ()) -> Fields:
    return {"error_code": code, "tokens": tokens, "throttle_time": 0}
