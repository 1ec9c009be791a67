"""ControllerRegistration, v0, on controllers (KIP-919)."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict, whole
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.kraft.controller.brokers.registration import RegisterController
from kafkapy.kraft.records.metadata import Endpoint, FeatureRange
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from kio.schema.controller_registration.v0.request import ControllerRegistrationRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[ControllerRegistrationRequest]") -> Answer:
    body = call.body
    event = RegisterController(
        controller_id=body.controller_id,
        incarnation_id=body.incarnation_id or ZERO_UUID,
        endpoints=tuple(
            Endpoint(
                name=one.name,
                host=one.host,
                port=one.port,
                security_protocol=one.security_protocol,
            )
            for one in body.listeners
        ),
        features=tuple(
            FeatureRange(
                name=one.name,
                min_supported_version=one.min_supported_version,
                max_supported_version=one.max_supported_version,
            )
            for one in body.features
        ),
    )
    return ask(node, event, lambda reply: {"throttle_time": 0, **verdict(None)}, whole)
