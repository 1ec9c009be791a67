"""ExpireDelegationToken, v1-2: a token ends at once (a period below 0), or after a period."""

from typing import TYPE_CHECKING

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.requests.translations import millis
from kafkapy.broker.security.token_changes import change
from kafkapy.kraft.controller.access.delegation_tokens import ExpireToken

if TYPE_CHECKING:
    from kio.schema.expire_delegation_token.v2.request import ExpireDelegationTokenRequest

    from kafkapy.broker.security.token_changes import Needs


def handle(node: "Needs", call: "Call[ExpireDelegationTokenRequest]") -> Answer:
    asked, requester = call.body, call.peer.principal
    return change(
        node, call, ExpireToken(requester, millis(asked.expiry_time_period), bytes(asked.hmac))
    )
