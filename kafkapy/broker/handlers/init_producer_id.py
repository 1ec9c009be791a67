"""InitProducerId, v0-5. v3 the producer's id and epoch (KIP-360), v4 PRODUCER_FENCED, v5 KIP-890.

v6 (two phase commit, KIP-939) is unstable in Apache Kafka, not advertised there and not here.
Without a transactional id any broker answers: an id nobody had, epoch 0.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import millis, optional
from kafkapy.broker.security.authorizer.asking import allows, allows_on_cluster
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.txn.events import InitProducerId, ProducerIdAndEpoch

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.init_producer_id.v5.request import InitProducerIdRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasTransactions
    from kafkapy.txn.producer_ids import ProducerIds

    class Needs(HasAuthorizer, HasTransactions, Protocol):
        @property
        def producer_ids(self) -> ProducerIds: ...


def handle(node: "Needs", call: "Call[InitProducerIdRequest]") -> Answer:
    body = call.body
    denied = _denied(node, call)
    if denied is not ErrorCode.NONE:
        return _refused(call, denied)
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


def _denied(node: "Needs", call: "Call[InitProducerIdRequest]") -> ErrorCode:
    """Without a transaction: whoever may write to some topic may be idempotent about it."""
    authorizer, transactional_id = node.authorizer, call.body.transactional_id
    if authorizer is None:
        return ErrorCode.NONE
    if transactional_id is not None:
        kind = ResourceType.TRANSACTIONAL_ID
        if not allows(node, call, Operation.WRITE, kind, transactional_id):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not (
        allows_on_cluster(node, call, Operation.IDEMPOTENT_WRITE)
        or authorizer.allows_on_any(call.peer, Operation.WRITE, ResourceType.TOPIC)
    ):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return ErrorCode.NONE


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
