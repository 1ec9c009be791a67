"""AllocateProducerIds, v0, on controllers (KIP-730)."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, code
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdBlock

if TYPE_CHECKING:
    from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[AllocateProducerIdsRequest]") -> Answer:
    event = AllocateProducerIds(call.body.broker_id, call.body.broker_epoch)
    return ask(
        node,
        event,
        _answer,
        lambda refused: {**code(refused), "producer_id_start": 0, "producer_id_len": 0},
    )


def _answer(reply: ProducerIdBlock) -> Fields:
    return {
        "throttle_time": 0,
        "error_code": 0,
        "producer_id_start": reply.first,
        "producer_id_len": reply.count,
    }
