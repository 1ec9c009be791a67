"""DescribeProducers, v0 (KIP-664): who wrote to a partition, and what they left open."""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.metadata.topic_names import why_illegal
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.log.producers.producer_state import ProducerEntry

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.describe_producers.v0.request import DescribeProducersRequest

    from kafkapy.broker.requests.needs import (
        HasAuthorizer,
        HasImage,
        HasPartitions,
        HearsOfDisks,
    )

    class Needs(HasAuthorizer, HasImage, HasPartitions, HearsOfDisks, Protocol): ...


_NONE = -1


def handle(node: "Needs", call: "Call[DescribeProducersRequest]") -> Answer:
    return {
        "throttle_time": 0,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    _partition(node, call, topic.name, index) for index in topic.partition_indexes
                ],
            }
            for topic in call.body.topics
        ],
    }


def _partition(
    node: "Needs", call: "Call[DescribeProducersRequest]", topic: str, index: int
) -> dict[str, Any]:
    code, message = ErrorCode.NONE, None
    producers: list[dict[str, Any]] = []
    try:
        require(node, call, Operation.READ, ResourceType.TOPIC, topic)
        _check_topic(node, topic)
        partition = node.partitions.hosted(topic, None, index)
        partition.check_readable(-1)  # a follower knows them too
        producers = [_producer(entry) for entry in partition.log.producers.active()]
    except Refused as refused:
        code, message = refused.code, refused.message
    except DiskFailed as failed:
        node.directory_failed(failed)
        code, message = ErrorCode.KAFKA_STORAGE_ERROR, None
    return {
        "partition_index": index,
        "error_code": code,
        "error_message": message,
        "active_producers": producers,
    }


def _check_topic(node: "Needs", topic: str) -> None:
    """Kafka explains what is wrong with a topic, and leaves partitions to their codes."""
    illegal = why_illegal(topic)
    if illegal is not None:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
    if topic not in node.image.topics_by_name:
        sentence = "This server does not host this topic-partition."
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, sentence)


def _producer(entry: ProducerEntry) -> dict[str, Any]:
    first_offset = entry.transaction_first_offset
    return {
        "producer_id": entry.producer_id,
        "producer_epoch": entry.producer_epoch,
        "last_sequence": entry.last_sequence,
        "last_timestamp": entry.last_timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_start_offset": _NONE if first_offset is None else first_offset,
    }
