"""ControllerRegistration, v0, on controllers (KIP-919)."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict, whole
from kafkapy.broker.controller.registrations import endpoints_from, features_from
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.controller.brokers.registration import RegisterController
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from kio.schema.controller_registration.v0.request import ControllerRegistrationRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[ControllerRegistrationRequest]") -> Answer:
    body = call.body
    event = RegisterController(
        controller_id=body.controller_id,
        incarnation_id=body.incarnation_id or ZERO_UUID,
        endpoints=endpoints_from(body.listeners),
        features=features_from(body.features),
    )
    return ask(node, event, lambda reply: {"throttle_time": 0, **verdict(None)}, whole)
