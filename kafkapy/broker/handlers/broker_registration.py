"""BrokerRegistration, v0-4, on controllers. v2 has log directories, v3 the epoch under
which the broker last stopped cleanly."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, code
from kafkapy.broker.controller.registrations import endpoints_from, features_from
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.kraft.controller.brokers.registration import BrokerRegistered, RegisterBroker
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
        endpoints=endpoints_from(body.listeners),
        features=features_from(body.features),
        rack=body.rack,
        log_dirs=tuple(one or ZERO_UUID for one in optional(body, "log_dirs", ())),
        previous_epoch=optional(body, "previous_broker_epoch", None),
        is_migrating=optional(body, "is_migrating_zk_broker", False),
    )
    return ask(node, event, _answer, lambda refused: {**code(refused), "broker_epoch": -1})


def _answer(reply: BrokerRegistered) -> Fields:
    return {"throttle_time": 0, "error_code": 0, "broker_epoch": reply.epoch}
