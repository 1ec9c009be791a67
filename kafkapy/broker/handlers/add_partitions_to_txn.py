"""AddPartitionsToTxn, v0-5. 0-3 from clients, one transaction; 4-5 from brokers, many.

v2 PRODUCER_FENCED, v4 batches and verify_only (KIP-890), v5 TRANSACTION_ABORTABLE.
A partition that does not exist fails the transaction's request as a whole: the others are
OPERATION_NOT_ATTEMPTED.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kafkapy.broker.metadata.internal_topics import INTERNAL_TOPICS
from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import by_topic
from kafkapy.broker.security.authorizer.asking import allows, allows_on_cluster
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.views import partition_of
from kafkapy.txn.events import AddPartitions, PartitionsAdded, PartitionsVerified, VerifyPartitions
from kafkapy.txn.transaction import TV_0, TV_2

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.add_partitions_to_txn.v3.request import (
        AddPartitionsToTxnRequest as AddPartitionsToTxnRequestV3,
    )
    from kio.schema.add_partitions_to_txn.v3.request import (
        AddPartitionsToTxnTopic as AddPartitionsToTxnTopicV3,
    )
    from kio.schema.add_partitions_to_txn.v5.request import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTopic,
    )

    from kafkapy.broker.requests.needs import HasAuthorizer, HasImage, HasTransactions

    class Needs(HasAuthorizer, HasImage, HasTransactions, Protocol): ...


LAST_FROM_CLIENTS = 3

Errors = Mapping[TopicPartition, ErrorCode]


class _Asked(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    partitions: frozenset[TopicPartition]


def handle(node: "Needs", call: "Call[AddPartitionsToTxnRequest]") -> Answer:
    if call.version > LAST_FROM_CLIENTS and not allows_on_cluster(
        node, call, Operation.CLUSTER_ACTION
    ):
        raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    asked = list(_transactions(call))
    results: dict[int, Errors] = {}
    later = Later()

    def told(at: int, errors: Errors) -> None:
        results[at] = errors
        if len(results) == len(asked):
            pairs = [(one.transactional_id, results[at]) for at, one in enumerate(asked)]
            later.resolve(_answer(call, pairs))

    for at, one in enumerate(asked):
        _ask(node, call, at, one, told)
    return later if asked else _answer(call, [])


def _transactions(call: "Call[AddPartitionsToTxnRequest]") -> Iterator[_Asked]:
    body = call.body
    if call.version <= LAST_FROM_CLIENTS:
        old = cast("AddPartitionsToTxnRequestV3", body)
        yield _Asked(
            old.v3_and_below_transactional_id,
            old.v3_and_below_producer_id,
            old.v3_and_below_producer_epoch,
            False,
            _partitions(old.v3_and_below_topics),
        )
        return
    for one in body.transactions:
        yield _Asked(
            one.transactional_id,
            one.producer_id,
            one.producer_epoch,
            one.verify_only,
            _partitions(one.topics),
        )


def _partitions(
    topics: "Sequence[AddPartitionsToTxnTopic | AddPartitionsToTxnTopicV3]",
) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.name, one) for topic in topics for one in topic.partitions
    )


def _ask(
    node: "Needs",
    call: "Call[AddPartitionsToTxnRequest]",
    at: int,
    asked: _Asked,
    told: Callable[[int, Errors], None],
) -> None:
    is_client = call.version <= LAST_FROM_CLIENTS
    kind = ResourceType.TRANSACTIONAL_ID
    if is_client and not allows(node, call, Operation.WRITE, kind, asked.transactional_id):
        denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        told(at, dict.fromkeys(asked.partitions, denied))
        return
    errors = {
        one: error
        for one in asked.partitions
        if (error := _why_not(node, call, one)) is not ErrorCode.NONE
    }
    if errors:
        not_attempted = dict.fromkeys(asked.partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
        told(at, not_attempted | errors)
        return

    def answered(reply: Any) -> None:
        match reply:
            case PartitionsVerified(errors):
                told(at, errors)
            case PartitionsAdded(error):
                told(at, dict.fromkeys(asked.partitions, error))
            case _:
                assert isinstance(reply, Refused), reply
                told(at, dict.fromkeys(asked.partitions, reply.code))

    who = (asked.transactional_id, asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        node.transactions.submit(VerifyPartitions(*who, asked.partitions), answered)
    else:
        client_version = TV_0 if call.version <= LAST_FROM_CLIENTS else TV_2
        event = AddPartitions(*who, asked.partitions, client_version)
        node.transactions.submit(event, answered)


def _why_not(
    node: "Needs", call: "Call[AddPartitionsToTxnRequest]", partition: TopicPartition
) -> ErrorCode:
    """Clients may write to topics of theirs only; brokers ask on behalf of those who may."""
    if call.version <= LAST_FROM_CLIENTS and (
        partition.topic in INTERNAL_TOPICS
        or not allows(node, call, Operation.WRITE, ResourceType.TOPIC, partition.topic)
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if node.image.partition_by_name(*partition) is None:
        if partition_of(node.image, *partition) is not None:
            return ErrorCode.INVALID_TOPIC_EXCEPTION  # a view: nothing is written to it
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _answer(
    call: "Call[AddPartitionsToTxnRequest]", results: list[tuple[str, Errors]]
) -> dict[str, Any]:
    if call.version <= LAST_FROM_CLIENTS:
        ((_, errors),) = results
        return {"throttle_time": 0, "results_by_topic_v3_and_below": _topics(call, errors)}
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "results_by_transaction": [
            {"transactional_id": transactional_id, "topic_results": _topics(call, errors)}
            for transactional_id, errors in results
        ],
    }


def _topics(call: "Call[AddPartitionsToTxnRequest]", errors: Errors) -> list[dict[str, Any]]:
    return [
        {
            "name": topic,
            "results_by_partition": [
                {
                    "partition_index": index,
                    "partition_error_code": _code(call, errors[TopicPartition(topic, index)]),
                }
                for index in indexes
            ],
        }
        for topic, indexes in by_topic(errors)
    ]


def _code(call: "Call[AddPartitionsToTxnRequest]", error: ErrorCode) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED and call.version < 2:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
