"""UnregisterBroker, v0 (KIP-631): forget a broker that will not come back."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict, whole
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.controller.brokers.liveness import UnregisterBroker

if TYPE_CHECKING:
    from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[UnregisterBrokerRequest]") -> Answer:
    return ask(
        node,
        UnregisterBroker(call.body.broker_id),
        lambda reply: {"throttle_time": 0, **verdict(None)},
        whole,
    )
