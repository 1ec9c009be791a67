"""EndTxn, v0-5. v2 PRODUCER_FENCED, v5 the epoch of the next transaction (KIP-890)."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkapy.txn.events import EndTransaction
from kafkapy.txn.transaction import TV_0, TV_2

if TYPE_CHECKING:
    from kio.schema.end_txn.v5.request import EndTxnRequest

    from kafkapy.broker.requests.needs import HasTransactions

FIRST_OF_V2 = 5


def handle(node: "HasTransactions", call: "Call[EndTxnRequest]") -> Answer:
    body = call.body
    later = Later()

    def ended(reply: Any) -> None:
        if isinstance(reply, Refused):
            later.resolve(_answer(call, reply.code, NO_PRODUCER_ID, NO_PRODUCER_EPOCH))
        else:
            later.resolve(_answer(call, reply.error, reply.producer_id, reply.producer_epoch))

    event = EndTransaction(
        body.transactional_id,
        body.producer_id,
        body.producer_epoch,
        body.committed,
        client_version=TV_2 if call.version >= FIRST_OF_V2 else TV_0,
    )
    node.transactions.submit(event, ended)
    return later


def _answer(
    call: "Call[EndTxnRequest]", error: ErrorCode, producer_id: int, epoch: int
) -> dict[str, Any]:
    if error is ErrorCode.PRODUCER_FENCED and call.version < 2:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return {
        "throttle_time": 0,
        "error_code": error,
        "producer_id": producer_id,
        "producer_epoch": epoch,
    }
