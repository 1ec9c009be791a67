"""RenewDelegationToken, v1-2: until when a token is good, from now on, within its lifetime."""

from typing import TYPE_CHECKING

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import millis
from kafkapy.broker.security.token_changes import change
from kafkapy.kraft.controller.access.delegation_tokens import RenewToken

if TYPE_CHECKING:
    from kio.schema.renew_delegation_token.v2.request import RenewDelegationTokenRequest

    from kafkapy.broker.security.token_changes import Needs


def handle(node: "Needs", call: "Call[RenewDelegationTokenRequest]") -> Answer:
    asked, requester = call.body, call.peer.principal
    return change(node, call, RenewToken(requester, millis(asked.renew_period), bytes(asked.hmac)))
