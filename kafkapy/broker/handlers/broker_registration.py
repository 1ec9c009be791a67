"""BrokerRegistration, v0-4, on controllers. v2 has log directories, v3 the epoch under
which the broker last stopped cleanly."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, code
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.kraft.controller.brokers.registration import BrokerRegistered, RegisterBroker
from kafkapy.kraft.records.metadata import Endpoint, FeatureRange
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from kio.schema.broker_registration.v4.request import BrokerRegistrationRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[BrokerRegistrationRequest]") -> Answer:
    body = call.body
    event = RegisterBroker(
        broker_id=body.broker_id,
        cluster_id=body.cluster_id,
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
        rack=body.rack,
        log_dirs=tuple(one or ZERO_UUID for one in optional(body, "log_dirs", ())),
        previous_epoch=optional(body, "previous_broker_epoch", None),
        is_migrating=optional(body, "is_migrating_zk_broker", False),
    )
    return ask(node, event, _answer, lambda refused: {**code(refused), "broker_epoch": -1})


def _answer(reply: BrokerRegistered) -> Fields:
    return {"throttle_time": 0, "error_code": 0, "broker_epoch": reply.epoch}
