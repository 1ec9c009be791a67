"""BrokerHeartbeat, v0-2, on controllers. v1 has failed directories, v2 cordoned ones."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, code
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import Refused
from kafkapy.kraft.controller.brokers.liveness import BrokerHeartbeat, HeartbeatReply
from kafkapy.kraft.uuids import ZERO_UUID

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.broker_heartbeat.v2.request import BrokerHeartbeatRequest

    from kafkapy.broker.controller.dead_brokers import DeadBrokers
    from kafkapy.broker.requests.needs import HasController

    class Needs(HasController, Protocol):
        @property
        def dead_brokers(self) -> DeadBrokers: ...


def handle(node: "Needs", call: "Call[BrokerHeartbeatRequest]") -> Answer:
    body = call.body
    node.dead_brokers.heard(call.peer, body.broker_id)
    cordoned = optional(body, "cordoned_log_dirs", None)
    event = BrokerHeartbeat(
        broker_id=body.broker_id,
        epoch=body.broker_epoch,
        metadata_offset=body.current_metadata_offset,
        wants_fence=body.want_fence,
        wants_shutdown=body.want_shut_down,
        offline_dirs=tuple(one or ZERO_UUID for one in optional(body, "offline_log_dirs", ())),
        cordoned_dirs=None if cordoned is None else tuple(one or ZERO_UUID for one in cordoned),
    )
    return ask(node, event, _answer, _refusal)


def _answer(reply: HeartbeatReply) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": 0,
        "is_caught_up": reply.is_caught_up,
        "is_fenced": reply.is_fenced,
        "should_shut_down": reply.should_shut_down,
    }


def _refusal(refused: Refused) -> Fields:
    return {**code(refused), "is_caught_up": False, "is_fenced": True, "should_shut_down": False}
