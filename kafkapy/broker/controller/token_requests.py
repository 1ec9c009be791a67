"""Create-, Renew- and ExpireDelegationToken handed on: who asks must have shown who it is, here.

no TLS or SASL, no name, or a token itself --> refused by the handler, on this broker
anybody else --> the controller, which is told how the client is known
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.apis import find_api
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.delegation_tokens import may_ask_about_tokens

if TYPE_CHECKING:
    from kafkapy.broker.node.broker_role import BrokerRole


def forward(broker: "BrokerRole", request: memoryview, call: Call[Any]) -> Answer:
    if may_ask_about_tokens(broker.config, call.peer):
        return broker.link.forward(request, call)
    api = find_api(call.api_key, is_controller=True)
    assert api is not None, call.api_key
    return api.handle(broker, call)
