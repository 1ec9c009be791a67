"""DescribeTransactions, v0 (KIP-664)."""

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import by_topic
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.txn.events import DescribeTransaction, TransactionDescribed

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasTransactions

    class Needs(HasAuthorizer, HasTransactions, Protocol): ...


def handle(node: "Needs", call: "Call[DescribeTransactionsRequest]") -> Answer:
    ids = call.body.transactional_ids
    found: dict[int, dict[str, Any]] = {}
    later = Later()

    def answered(at: int, reply: Any) -> None:
        if isinstance(reply, Refused):
            reply = TransactionDescribed(reply.code, ids[at])
        found[at] = _state(node, call, reply)
        if len(found) == len(ids):
            states = [found[at] for at in range(len(ids))]
            later.resolve({"throttle_time": 0, "transaction_states": states})

    for at, transactional_id in enumerate(ids):
        kind = ResourceType.TRANSACTIONAL_ID
        if allows(node, call, Operation.DESCRIBE, kind, transactional_id):
            node.transactions.submit(DescribeTransaction(transactional_id), partial(answered, at))
        else:
            answered(at, Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    return later if ids else {"throttle_time": 0, "transaction_states": []}


def _state(
    node: "Needs", call: "Call[DescribeTransactionsRequest]", described: TransactionDescribed
) -> dict[str, Any]:
    is_known = described.error is ErrorCode.NONE
    return {
        "error_code": described.error,
        "transactional_id": described.transactional_id,
        "transaction_state": described.label,
        "transaction_timeout": described.timeout_ms,
        "transaction_start_time": described.started_ms if is_known else 0,
        "producer_id": described.producer_id if is_known else 0,
        "producer_epoch": described.producer_epoch if is_known else 0,
        "topics": [
            {"topic": topic, "partitions": indexes}
            for topic, indexes in by_topic(described.partitions)
            if allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, topic)
        ],
    }
