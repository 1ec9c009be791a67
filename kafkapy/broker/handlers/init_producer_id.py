"""InitProducerId, v0-5. v3 the producer's id and epoch (KIP-360), v4 PRODUCER_FENCED, v5 KIP-890.

v6 (two phase commit, KIP-939) is unstable in Apache Kafka, not advertised there and not here.
Without a transactional id any broker answers: an id nobody had, epoch 0.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkapy.txn.events import InitProducerId, ProducerIdAndEpoch

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.init_producer_id.v5.request import InitProducerIdRequest

    from kafkapy.broker.requests.needs import HasTransactions
    from kafkapy.txn.producer_ids import ProducerIds

    class Needs(HasTransactions, Protocol):
        @property
        def producer_ids(self) -> ProducerIds: ...


def handle(node: "Needs", call: "Call[InitProducerIdRequest]") -> Answer:
    body = call.body
    producer_id = optional(body, "producer_id", NO_PRODUCER_ID)
    epoch = optional(body, "producer_epoch", NO_PRODUCER_EPOCH)
    if (producer_id == NO_PRODUCER_ID) != (epoch == NO_PRODUCER_EPOCH):
        return _refused(call, ErrorCode.INVALID_REQUEST)
    later = Later()
    if body.transactional_id is None:

        def got_id(got: int | Refused) -> None:
            if isinstance(got, Refused):
                later.resolve(_refused(call, got.code))
            else:
                later.resolve(_answer(ErrorCode.NONE, got, 0))

        node.producer_ids.next(got_id)
        return later

    known = None if producer_id == NO_PRODUCER_ID else ProducerIdAndEpoch(producer_id, epoch)
    timeout_ms = millis(body.transaction_timeout)
    event = InitProducerId(body.transactional_id, timeout_ms, known)

    def initialised(reply: Any) -> None:
        if isinstance(reply, Refused):
            later.resolve(_refused(call, reply.code))
        elif reply.error:
            later.resolve(_refused(call, reply.error))
        else:
            later.resolve(_answer(ErrorCode.NONE, reply.producer_id, reply.producer_epoch))

    node.transactions.submit(event, initialised)
    return later


def _refused(call: "Call[InitProducerIdRequest]", error: ErrorCode) -> dict[str, Any]:
    if error is ErrorCode.PRODUCER_FENCED and call.version < 4:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return _answer(error, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def _answer(error: ErrorCode, producer_id: int, epoch: int) -> dict[str, Any]:
    return {
        "throttle_time": 0,
        "error_code": error,
        "producer_id": producer_id,
        "producer_epoch": epoch,
    }
