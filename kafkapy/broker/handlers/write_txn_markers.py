"""WriteTxnMarkers, v1-2, from transaction coordinators and from `kafka-transactions abort`.

v2 says by which protocol the marker's epoch is to be judged (KIP-1228).
"""

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.requests.translations import by_topic, optional
from kafkapy.broker.security.authorizer.asking import allows, would_allow
from kafkapy.broker.transactions.marker_writer import Marker
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.write_txn_markers.v2.request import WritableTxnMarker, WriteTxnMarkersRequest

    from kafkapy.broker.requests.needs import HasAuthorizer
    from kafkapy.broker.transactions.marker_writer import MarkerWriter

    class Needs(HasAuthorizer, Protocol):
        @property
        def marker_writer(self) -> MarkerWriter: ...


def handle(node: "Needs", call: "Call[WriteTxnMarkersRequest]") -> Answer:
    asked = [
        (at, TopicPartition(topic.name, index))
        for at, marker in enumerate(call.body.markers)
        for topic in marker.topics
        for index in topic.partition_indexes
    ]
    expected = set(asked)
    results: dict[tuple[int, TopicPartition], ErrorCode] = {}
    if not (
        would_allow(node, call, Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
        or allows(node, call, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    ):
        return _answer(call, dict.fromkeys(asked, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    later = Later()

    def told(which: tuple[int, TopicPartition], error: ErrorCode) -> None:
        results[which] = error
        if len(results) == len(expected):
            later.resolve(_answer(call, results))

    # In order: a set's order is another in every process, and a run must be repeatable.
    for which in sorted(expected):
        at, topic_partition = which
        marker = _marker(call.body.markers[at])
        node.marker_writer.write(marker, topic_partition, partial(told, which))
    return later if expected else _answer(call, results)


def _marker(asked: "WritableTxnMarker") -> Marker:
    return Marker(
        producer_id=asked.producer_id,
        producer_epoch=asked.producer_epoch,
        coordinator_epoch=asked.coordinator_epoch,
        committed=asked.transaction_result,
        transaction_version=optional(asked, "transaction_version", 0),
    )


def _answer(
    call: "Call[WriteTxnMarkersRequest]", results: dict[tuple[int, TopicPartition], ErrorCode]
) -> dict[str, Any]:
    rows = []
    for at, marker in enumerate(call.body.markers):
        errors = {partition: error for (of, partition), error in results.items() if of == at}
        rows.append({"producer_id": marker.producer_id, "topics": _topics(errors)})
    return {"markers": rows}


def _topics(errors: dict[TopicPartition, ErrorCode]) -> list[dict[str, Any]]:
    return [
        {
            "name": topic,
            "partitions": [
                {"partition_index": index, "error_code": errors[TopicPartition(topic, index)]}
                for index in indexes
            ],
        }
        for topic, indexes in by_topic(errors)
    ]
